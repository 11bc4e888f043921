// Responds with the description of the interface, and with its page.

import { staticFiles } from "../admin-pages/static-files.ts";
import { ApiError } from "../base/errors.ts";
import type { Contract } from "../contract/contract.ts";
import { type Handler, pathOf } from "../http/handler.ts";
import type { Operation } from "../http/operation.ts";
import { errorResponse } from "../http/responses.ts";
import type { Description } from "./description.ts";
import { documentationOf } from "./documentation-html.ts";
import { contentTypes, openApiDocuments } from "./openapi-documents.ts";
import script from "./page/page.js" with { type: "text" };
import style from "./page/style.css" with { type: "text" };
import { documentNames, type FileName, fileNames } from "./paths.ts";
import { servedDocument } from "./served-document.ts";

export interface DocumentationOptions {
  readonly contract: Contract;
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The operations besides the create. */
  readonly operations?: readonly Operation[];
  /** The base address that clients use, if it is not the listener's own. */
  readonly publicUrl: string | undefined;
  /** Whether there is a page as well as the interface description. */
  readonly hasPage: boolean;
}

const commonHeaders = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** RFC 9112, section 3.2. Bun accepts any text, and joins two Host fields with a comma. */
const wellFormedHost = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

const fileOf: Readonly<Record<FileName, string>> = {
  "docs/page.js": script,
  "docs/style.css": style,
};

/** The responses to the paths of paths.ts. */
export function documentationResponses({
  contract,
  basePath,
  operations = [],
  publicUrl,
}: DocumentationOptions): Handler {
  const documents = new Map(documentNames.map((name) => [`${basePath}/${name}`, name]));
  let description: Description | undefined;
  const served = () => {
    description ??= servedDocument(contract, operations, basePath);
    return description;
  };
  const describe = openApiDocuments(served);
  const files = new Map(fileNames.map((name) => [`${basePath}/${name}`, async () => fileOf[name]]));
  const fileRoutes = staticFiles(files, commonHeaders);
  let render: ReturnType<typeof documentationOf> | undefined;

  return async (request, { origin }) => {
    const path = pathOf(request.url);
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = `${request.method} is not offered at ${path}; GET it.`;
      const error = new ApiError("methodNotAllowed", message, { allow: "GET, HEAD" });
      return errorResponse(contract.errors, error);
    }
    if (files.has(path)) return fileRoutes.fetch(request);
    const url = publicUrl ?? requestUrl(request, origin) + basePath;
    const name = documents.get(path);
    if (name !== undefined)
      return new Response(describe(name, url), {
        headers: { "Content-Type": contentTypes[name], "Cache-Control": "no-store" },
      });
    if (path === "/" && basePath !== "")
      return new Response(null, {
        status: 307,
        headers: { ...commonHeaders, Location: `${basePath.slice(1)}/` },
      });
    render ??= documentationOf(contract, served());
    const prefix = path.endsWith("/")
      ? ""
      : lastSegment(publicUrl === undefined ? basePath : new URL(publicUrl).pathname);
    return new Response(render({ prefix, url }), {
      headers: {
        ...commonHeaders,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": contentSecurityPolicy,
        "Cache-Control": "no-store",
      },
    });
  };
}

/** The address of the server as the client of a request knows it. */
function requestUrl(request: Request, origin: string): string {
  const { protocol, host } = new URL(origin);
  const requestHost = request.headers.get("host") ?? "";
  return `${protocol}//${wellFormedHost.test(requestHost) ? requestHost : host}`;
}

/**
 * The last segment of the public path, with a slash, or "". Links are relative, so that they work
 * behind a proxy; without a slash at its end the page's address lacks this segment (RFC 3986,
 * section 5.2.3).
 */
function lastSegment(path: string): string {
  const segment = path.split("/").findLast((part) => part !== "");
  return segment === undefined ? "" : `${segment}/`;
}
