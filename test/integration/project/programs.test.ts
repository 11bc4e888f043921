// The optional programs of the tests: found and started by one and the same path, whatever the
// PATH.

import { expect, test } from "bun:test";
import { Glob } from "bun";

const root = new URL("../../..", import.meta.url).pathname;

/** What every machine that runs the tests has on its PATH. */
const always = ["sh", "sleep", "node", "npm", "npx"];

test("no program is started by its name alone", async () => {
  const byName: string[] = [];
  const starts = /\b(?:spawn|spawnSync|execFile|execFileSync)\(\s*\[?\s*"([^"/]+)"|Bun\.which\(/g;
  for (const path of new Glob("test/**/*.ts").scanSync({ cwd: root })) {
    if (path === "test/support/programs.ts" || path === "test/unit/support/programs.test.ts") continue;
    for (const [start, program = ""] of (await Bun.file(`${root}/${path}`).text()).matchAll(starts))
      if (!always.includes(program)) byName.push(`${path}: ${start}`);
  }
  expect(byName).toEqual([]);
});
