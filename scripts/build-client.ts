// npm run build:client: builds packages/client/dist, the typed client as an ES module and as CommonJS, with types for each.
// `npm pack` and `npm publish` run it first.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const dist = join(root, "packages/client/dist");

/** Not imported by index.d.ts. */
const internalTypes = ["attempt.d.ts", "retry.d.ts"];

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await Bun.$`${join(root, "node_modules/.bin/tsc")} -p ${join(root, "src/client")} --outDir ${dist}`;
for (const file of internalTypes) rmSync(join(dist, file));
for (const file of readdirSync(dist)) {
  const declarations = await Bun.file(join(dist, file)).text();
  rmSync(join(dist, file));
  // TypeScript resolves an import of "./client.cjs" to client.d.cts.
  const commonJs = declarations.replaceAll(/(from "\.\/\w+)\.ts"/g, '$1.cjs"');
  await Bun.write(join(dist, file.replace(/ts$/, "cts")), commonJs);
}
// One type for both: a class with private members is not assignable to a copy of it.
await Bun.write(join(dist, "index.d.ts"), 'export * from "./index.cjs";\n');

const { outputs } = await Bun.build({
  entrypoints: [join(root, "src/client/index.ts")],
  target: "browser",
  // The package is under 30 KB, with the types' comments. Names are kept.
  minify: { syntax: true, whitespace: true },
});
const module = (await outputs[0]?.text()) ?? "";
await Bun.write(join(dist, "index.js"), module);
// Bun's own CommonJS takes 1.5 KB more, and Node finds no names in it to import.
const [match, names = ""] = /export\{([\w,]+)\};\s*$/.exec(module) ?? [];
if (match === undefined) throw new Error("The bundle does not end in one export");
await Bun.write(
  join(dist, "index.cjs"),
  `"use strict";${module.slice(0, -match.length)}module.exports={${names}};\n`,
);
