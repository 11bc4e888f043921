// Code of others that we ship: it is copied unchanged, and its licences are compatible with MIT.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readVendored } from "../../../scripts/vendored.ts";

const root = new URL("../../..", import.meta.url).pathname;

interface LockedPackage {
  readonly license?: string;
  readonly dev?: boolean;
  /** Whether it is a package of this repository. */
  readonly link?: boolean;
}

/** Ask for no more than a notice; may be linked with MIT and shipped. */
const permissive = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT"];
/**
 * Licences of packages that are used here and never shipped. They may also ask for a notice with
 * data and texts, or for the publication of changes.
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

test("every locked package has a licence that goes with MIT", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const locked = Object.entries<LockedPackage>(packages).filter(
    ([path, { link = false }]) => path.includes("node_modules/") && !link,
  );
  expect(locked.length).toBeGreaterThan(100);
  const foreign = locked.filter(
    ([, { license = "none", dev = false }]) => !isAllowed(license, dev ? permissiveToUse : permissive),
  );
  expect(foreign).toEqual([]);
});
