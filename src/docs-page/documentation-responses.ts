// Responds with the description of the interface, and with its page.

import { ApiError } from "../base/errors.ts";
import type { Contract } from "../contract/contract.ts";
import { type Handler, pathOf } from "../http/handler.ts";
import type { Operation } from "../http/operation.ts";
import { errorResponse } from "../http/responses.ts";
import type { Description } from "./description.ts";
import { contentTypes, openApiDocuments } from "./openapi-documents.ts";
import script from "./page/page.js" with { type: "text" };
import { pageHtml } from "./page-html.ts";
import { documentNames, fileNames } from "./paths.ts";
import { respondInPieces } from "./pieces.ts";
import { scalarPackage, scalarScripts } from "./scalar.ts";
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
  // Scalar sets styles of elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** RFC 9112, section 3.2. Bun accepts any text, and joins two Host fields with a comma. */
const wellFormedHost = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

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
  const [scriptPath, scalarPath] = fileNames.map((name) => `${basePath}/${name}`);

  return async (request, { origin }) => {
    const path = pathOf(request.url);
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = `${request.method} is not offered at ${path}; GET it.`;
      const error = new ApiError("methodNotAllowed", message, { allow: "GET, HEAD" });
      return errorResponse(contract.errors, error);
    }
    if (path === scriptPath) return new Response(script, { headers: scriptHeaders });
    if (path === scalarPath) return await scalarResponse(request);
    const url = publicUrl ?? requestUrl(request, origin) + basePath;
    const name = documents.get(path);
    if (name !== undefined)
      return respondInPieces(describe(name, url), {
        "Content-Type": contentTypes[name],
        "Cache-Control": "no-store",
      });
    if (path === "/" && basePath !== "")
      return new Response(null, {
        status: 307,
        headers: { ...commonHeaders, Location: `${basePath.slice(1)}/` },
      });
    const prefix = path.endsWith("/")
      ? ""
      : lastSegment(publicUrl === undefined ? basePath : new URL(publicUrl).pathname);
    return new Response(pageHtml(served(), prefix), {
      headers: {
        ...commonHeaders,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": contentSecurityPolicy,
        "Cache-Control": "no-store",
      },
    });
  };
}

const scriptHeaders = {
  ...commonHeaders,
  "Content-Type": "text/javascript; charset=utf-8",
  "Cache-Control": "no-cache",
};

/** Sends Scalar's script, which a client keeps until another version has another tag. */
async function scalarResponse({ headers: sent }: Request): Promise<Response> {
  const accepted = sent.get("accept-encoding") ?? "";
  const coding = (["br", "gzip"] as const).find((each) => accepts(accepted, each)) ?? "identity";
  const headers = {
    ...scriptHeaders,
    "Cache-Control": "public, max-age=86400",
    ETag: `"${scalarPackage.version}-${coding}"`,
    Vary: "Accept-Encoding",
    ...(coding !== "identity" && { "Content-Encoding": coding }),
  };
  if (sent.get("if-none-match") === headers.ETag) return new Response(null, { status: 304, headers });
  return respondInPieces([await scalarScripts[coding]()], headers);
}

/** Whether a coding is in an Accept-Encoding field with a weight that is not 0 (RFC 9110, section 12.5.3). */
function accepts(field: string, coding: string): boolean {
  const pattern = new RegExp(`^\\s*${coding}\\s*(?:;\\s*q=(?:1|0\\.0*[1-9])[\\d.]*\\s*)?$`, "i");
  return field.split(",").some((each) => pattern.test(each));
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
