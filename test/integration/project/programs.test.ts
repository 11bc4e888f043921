// The optional programs of the tests: found and started by one and the same path, whatever the
// PATH.

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { pathOf, programPath } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

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

test("a program is found beside PATH where Debian has servers, and its path is absolute", () => {
  const script = `
    import { pathOf, programPath } from "${root}test/support/programs.ts";
    const sbin = [...new Bun.Glob("*").scanSync({ cwd: "/usr/sbin", onlyFiles: true })];
    const missing = sbin.filter((name) => pathOf(name) === null);
    console.log(JSON.stringify({ sbin: sbin.length, missing, path: sbin[0] && programPath(sbin[0]) }));`;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { env: { PATH: "/nowhere" } });
  const found = JSON.parse(stdout.toString());
  expect(found.sbin).toBeGreaterThan(0);
  expect(found.missing).toEqual([]);
  expect(found.path).toStartWith("/");
});

test("what is missing is null, and cannot be started", () => {
  using folder = new TemporaryFolder();
  expect(pathOf(folder.file("none"))).toBeNull();
  expect(() => programPath("no-such-program")).toThrow("no-such-program");
});
