// The documentation page and the interface description of a running server.

import { documentation } from "../docs-page/documentation.ts";
import type { ServeSettings } from "./config/resolve.ts";

/** Serves them before the handler of the service. */
export function serveDocumentation({ basePath, publicUrl, docs }: ServeSettings) {
  return documentation({ basePath, publicUrl, hasPage: docs === "on" });
}
