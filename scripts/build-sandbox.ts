// npm run build:sandbox: builds packages/sandbox/dist, the module `plantstore/sandbox`. `npm pack` and `npm publish` run it first.

import { join } from "node:path";
import { buildLibrary } from "./library.ts";

const root = join(import.meta.dir, "..");
await buildLibrary({
  source: join(root, "packages/sandbox/src"),
  dist: join(root, "packages/sandbox/dist"),
  types: ["index.d.ts", "control-types.d.ts", "errors.d.ts", "sandbox.d.ts", "start.d.ts"],
  target: "node",
});
