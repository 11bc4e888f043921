// Builds a library as an ES module and as CommonJS, each with types, for packages/*/build.ts.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dir, "..");

export interface Library {
  /** The folder with index.ts and tsconfig.json. */
  readonly source: string;
  /** The folder for the build. Whatever is in it is removed. */
  readonly dist: string;
  /** The published declarations; users import only the first, index.d.ts. */
  readonly types: readonly string[];
  readonly target: "browser" | "node";
  /** Whether the build has the packages that it imports, or imports them from node_modules. */
  readonly packages: "bundle" | "external";
}

export async function buildLibrary({ source, dist, types, target, packages }: Library): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  await buildTypes(source, dist, types);

  const { outputs } = await Bun.build({
    entrypoints: [join(source, "index.ts")],
    target,
    packages,
  });
  const module = (await outputs[0]?.text()) ?? "";
  await Bun.write(join(dist, "index.js"), module);
  await Bun.write(join(dist, "index.cjs"), toCommonJs(module));
}

async function buildTypes(source: string, dist: string, types: readonly string[]): Promise<void> {
  const emitted = join(dist, "types");
  await Bun.$`${join(root, "node_modules/.bin/tsc")} -p ${source} --outDir ${emitted}`;
  // In a subfolder if the sources import others.
  const folder = readdirSync(emitted).includes("index.d.ts")
    ? emitted
    : join(emitted, relative(join(root, "packages"), source));
  for (const file of types) {
    const declarations = await Bun.file(join(folder, file)).text();
    // TypeScript resolves an import of "./client.cjs" to client.d.cts.
    const commonJs = declarations.replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.cjs"');
    await Bun.write(join(dist, file.replace(/ts$/, "cts")), commonJs);
  }
  // One type for both: a class with private members is not assignable to a copy of it.
  await Bun.write(join(dist, "index.d.ts"), 'export * from "./index.cjs";\n');
  rmSync(emitted, { recursive: true });
}

/** Bun's own CommonJS takes 1.5 KB more, and Node finds no names in it to import. */
function toCommonJs(module: string): string {
  const [exported, names = ""] = /export\s*\{([\w,\s]+)\};\s*$/.exec(module) ?? [];
  if (exported === undefined) throw new Error("The bundle does not end in one export");
  const script = module
    .slice(0, -exported.length)
    .replaceAll(
      /^import\s*(\{[^}]*\})\s*from\s*("[\w:/-]+");/gm,
      (_, bindings: string, name) => `const ${bindings.replaceAll(" as ", ": ")} = require(${name});`,
    )
    .replaceAll("import.meta.url", 'require("node:url").pathToFileURL(__filename)');
  if (/^import\b|import\.meta/m.test(script))
    throw new Error("The bundle has an import that has no CommonJS here");
  return `"use strict";${script}module.exports={${names}};\n`;
}
