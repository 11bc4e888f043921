// Prints the path of the Bun that this package pins, as Node resolves packages. bin/plantstore asks
// for it where node_modules has none.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const bunPackage = createRequire(import.meta.url).resolve("bun/package.json");
const { resolve } = createRequire(bunPackage);
const { optionalDependencies } = createRequire(bunPackage)(bunPackage);

/** The package of each system has the runtime, unless bun's install script has moved it to bun.exe. */
const names = [...Object.keys(optionalDependencies).map((name) => `${name}/bin/bun`), "./bin/bun.exe"];
const path = names.map(pathOf).find((path) => path !== undefined && starts(path));
if (path === undefined) process.exit(1);
process.stdout.write(path);

function pathOf(name) {
  try {
    return resolve(name);
  } catch {
    // It is for another system, or moved.
    return undefined;
  }
}

function starts(path) {
  return spawnSync(path, ["--version"]).status === 0;
}
