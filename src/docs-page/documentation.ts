// Serves the interface description and its page to anyone, before the handler of the service.

import { ApiError } from "../core/contract/errors.ts";
import { type Connection, type Handler, pathOf } from "../core/http/handler.ts";
import { errorResponse } from "../core/http/responses.ts";
import { DocumentationPage, type DocumentationPageOptions } from "./documentation-page.ts";
import { contentTypes, documentNames, openApiDocument } from "./openapi-documents.ts";

interface DocumentationOptions extends DocumentationPageOptions {
  /** Whether there is a page as well as the interface description. */
  readonly hasPage: boolean;
}

/** RFC 9112, section 3.2. Bun accepts any text, and joins two Host fields with a comma. */
const wellFormedHost = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

export function documentation(options: DocumentationOptions): (next: Handler) => Handler {
  const { basePath, publicUrl } = options;
  const page = options.hasPage ? new DocumentationPage(options) : undefined;
  const documentPaths = new Map(documentNames.map((name) => [`${basePath}/${name}`, name]));

  async function respond(path: string, request: Request, connection: Connection): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = `${request.method} is not offered at ${path}; GET it.`;
      return errorResponse(new ApiError("methodNotAllowed", message, { allow: "GET, HEAD" }));
    }
    const url = publicUrl ?? requestUrl(request, connection.origin) + basePath;
    const name = documentPaths.get(path) ?? "openapi.json";
    if (page?.has(path)) return page.respond(path, request, url);
    return new Response(openApiDocument(name, url), {
      headers: { "Content-Type": contentTypes[name], "Cache-Control": "no-store" },
    });
  }

  return (next) => (request, connection) => {
    if (connection.isCreate(request)) return next(request, connection);
    const path = pathOf(request.url);
    return documentPaths.has(path) || page?.has(path)
      ? respond(path, request, connection)
      : next(request, connection);
  };
}

/** The address of the server as the client of a request knows it. */
function requestUrl(request: Request, origin: string): string {
  const { protocol, host } = new URL(origin);
  const requestHost = request.headers.get("host") ?? "";
  return `${protocol}//${wellFormedHost.test(requestHost) ? requestHost : host}`;
}
