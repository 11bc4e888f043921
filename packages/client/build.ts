// Builds dist/: npm run build:client. `npm pack` and `npm publish` run it first.

import { join } from "node:path";
import { buildLibrary } from "../build-library.ts";

await buildLibrary({
  source: join(import.meta.dir, "src"),
  dist: join(import.meta.dir, "dist"),
  types: ["index.d.ts", "exact-json.d.ts", "fetch.d.ts"],
  target: "browser",
  packages: "external",
});
