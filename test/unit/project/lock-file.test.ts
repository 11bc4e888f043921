// What others wrote and we run: pinned, verified when it is installed, and under licences that go
// with MIT.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readVendored } from "../../../scripts/vendored.ts";

const root = new URL("../../..", import.meta.url).pathname;
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  /** That of a package which is installed under another name. */
  readonly name?: string;
  /** Whether it is a package of this repository. */
  readonly link?: boolean;
}

/** Ask for no more than a notice; may be linked with MIT and shipped. */
const permissive = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT"];
/**
 * Of what is used here and never shipped: data and texts that ask for a notice, too, and changes
 * that ask to be published.
 */
const permissiveToUse = [...permissive, "CC-BY-4.0", "CC0-1.0", "MPL-2.0", "Python-2.0"];

/** Whether an SPDX expression of names, OR and AND leaves a choice that is allowed. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const choices = expression.replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((name) => allowed.includes(name)));
}

test("what is copied into the source tree is what the locked packages have", async () => {
  const differing: string[] = [];
  for (const [path, text] of await readVendored()) {
    if (text !== readFileSync(join(root, path), "utf8"))
      differing.push(`${path}: run npm run update:vendored`);
  }
  expect(differing).toEqual([]);
});

describe.each([
  [".", 100],
  ["test/runner/postgres-versions", 10],
])("%s", (folder, lockedMin) => {
  /** Every package of the lock file, those for other platforms too; without the project's own. */
  const locked = Object.entries<LockedPackage>(readJson(`${folder}/package-lock.json`).packages).filter(
    ([path, { link = false }]) => path.includes("node_modules/") && !link,
  );

  test("every locked package has its hash, and is fetched from whatever registry npm is set to", () => {
    const unverified = locked.filter(
      ([, { integrity, resolved }]) => !integrity?.startsWith("sha512-") || resolved !== undefined,
    );
    expect(locked.length).toBeGreaterThan(lockedMin);
    expect(unverified).toEqual([]);
  });

  test("direct dependencies are pinned to one version, which is the locked one", () => {
    const { dependencies, devDependencies, optionalDependencies } = readJson(`${folder}/package.json`);
    const versions = new Map(locked.map(([path, { version }]) => [path, version]));
    const wrong = Object.entries<string>({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
    }).filter(([name, wanted]) => versions.get(`node_modules/${name}`) !== wanted.replace(/^npm:.+@/, ""));
    expect(wrong).toEqual([]);
  });

  test("every locked package has a licence that goes with MIT", () => {
    const foreign = locked.filter(
      ([, { license = "none", dev = false }]) => !isAllowed(license, dev ? permissiveToUse : permissive),
    );
    expect(foreign).toEqual([]);
  });

  test("only packages that are named may run a script when they are installed", () => {
    const scripted = locked
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path, { name }]) => name ?? path.replace(/.*node_modules\//, ""));
    const allowed = Object.keys(readJson(`${folder}/package.json`).allowScripts);
    expect(scripted.filter((name) => !allowed.includes(name))).toEqual([]);
  });
});
