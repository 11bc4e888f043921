// Builds dist/, the program that checks a server: npm run build:conformance. `npm pack` and `npm
// publish` run it first.

import { chmodSync, copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const dist = join(import.meta.dir, "dist");
const program = join(dist, "main.js");

rmSync(dist, { recursive: true, force: true });
const { outputs } = await Bun.build({
  entrypoints: [join(import.meta.dir, "./src/package-main.ts")],
  target: "node",
});
await Bun.write(program, `#!/usr/bin/env node\n${await outputs[0]?.text()}`);
chmodSync(program, 0o755);
copyFileSync(join(import.meta.dir, "../../LICENSE"), join(import.meta.dir, "LICENSE"));
