// Builds dist/: npm run build:client. `npm pack` and `npm publish` run it first.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { buildLibrary } from "../build-library.ts";

await buildLibrary({
  source: join(import.meta.dir, "src"),
  dist: join(import.meta.dir, "dist"),
  types: ["index.d.ts", "exact-json.d.ts", "fetch.d.ts"],
  target: "browser",
  packages: "external",
});
copyFileSync(join(import.meta.dir, "../../LICENSE"), join(import.meta.dir, "LICENSE"));
