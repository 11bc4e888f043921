// Builds dist/, the typed client: npm run build:client. `npm pack` and `npm publish` run it first.

import { join } from "node:path";
import { buildLibrary } from "../build-library.ts";

await buildLibrary({
  source: join(import.meta.dir, "src"),
  dist: join(import.meta.dir, "dist"),
  types: ["index.d.ts", "calls.d.ts", "client.d.ts", "client-errors.d.ts", "options.d.ts", "new-plant.d.ts"],
  target: "browser",
  // The package is under 40 KB, with the types' comments.
  minify: true,
});
