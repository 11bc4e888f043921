// Builds dist/, the module `plantstore/sandbox`: npm run build:sandbox. `npm pack` and `npm
// publish` run it first.

import { join } from "node:path";
import { buildLibrary } from "../build-library.ts";

await buildLibrary({
  source: join(import.meta.dir, "src"),
  dist: join(import.meta.dir, "dist"),
  types: [
    "index.d.ts",
    "control-types.d.ts",
    "sandbox-errors.d.ts",
    "running-sandbox.d.ts",
    "sandbox-collection.d.ts",
    "start.d.ts",
  ],
  target: "node",
  packages: "bundle",
});
