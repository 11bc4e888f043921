// npm run build:sandbox: builds dist/sandbox, the module `plantstore/sandbox`. `npm pack` and `npm publish` run it first.

import { join } from "node:path";
import { buildLibrary } from "./library.ts";

const root = join(import.meta.dir, "..");
await buildLibrary({
  source: join(root, "src/sandbox-helper"),
  dist: join(root, "dist/sandbox"),
  types: ["index.d.ts", "control-types.d.ts", "errors.d.ts", "sandbox.d.ts", "start.d.ts"],
  target: "node",
});
