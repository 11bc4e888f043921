// The documentation page and the interface description of a running server.

import { documentation } from "../docs-page/documentation.ts";
import type { ServeConfig } from "./config/resolve.ts";

/** Serves them before the handler of the service. */
export function serveDocumentation({ basePath, publicUrl, docs }: ServeConfig) {
  return documentation({ basePath, publicUrl, hasPage: docs === "on" });
}
