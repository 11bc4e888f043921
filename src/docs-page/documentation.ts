// Serves the interface description and its page to anyone, before the handler of the service.

import { type Handler, pathOf } from "../http/handler.ts";
import type { DocumentationOptions } from "./documentation-responses.ts";
import { documentNames, fileNames } from "./paths.ts";

export function documentation(options: DocumentationOptions): (next: Handler) => Handler {
  const { basePath, hasPage, contract, operations = [] } = options;
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

  const others = [...operations, ...contract.otherOperations].filter(({ path }) => path === "/");
  const described = new Set<string>(others.map(({ method }) => method));
  if (contract.collections.some(({ path }) => path === "/")) described.add("POST");
  /** Whether a request is for an operation at the path of the page, which is then for browsers. */
  const isDescribed = ({ method, url, headers }: Request) => {
    if (described.size === 0 || pathOf(url) !== `${basePath}/`) return false;
    if (method !== "GET" && method !== "HEAD") return described.has(method);
    const wantsPage = hasPage && /\btext\/html\b/i.test(headers.get("accept") ?? "");
    return !wantsPage && (described.has("GET") || described.has(method));
  };

  return (next) => (request, context) => {
    const isOther = context.route !== undefined || !paths.has(pathOf(request.url)) || isDescribed(request);
    return isOther ? next(request, context) : respond(request, context);
  };
}
