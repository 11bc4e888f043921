// A hundred sandboxes of one program side by side: each is used, half of them are closed, and the program is killed.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { Output } from "../../support/output.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { sessionOf } from "../../support/sessions.ts";

const module = new URL("../../../src/sandbox-helper/index.ts", import.meta.url).pathname;
const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test("a hundred used side by side, half of them closed and the others killed with their program, leave nothing", async () => {
  const temporary = folder.file("tmp");
  mkdirSync(temporary);
  writeFileSync(
    folder.file("program.mjs"),
    `import { startSandbox } from ${JSON.stringify(module)};
     const urls = [];
     // Ten start at a time.
     for (let first = 0; first < 100; first += 10)
       urls.push(...await Promise.all(Array.from({ length: 10 }, (_, index) => use(first + index))));
     console.log(JSON.stringify(urls.flat()));
     setInterval(() => undefined, 1_000);

     async function use(index) {
       const id = 2n ** 62n + BigInt(index);
       const sandbox = await startSandbox({ seed: [{ id: 0, name: "Ficus lyrata" }] });
       const headers = { Authorization: "Bearer sandbox", "Content-Type": "application/json" };
       const body = JSON.stringify({ id: 0, name: "Monstera" }).replace("0", String(id));
       await fetch(sandbox.plantsUrl, { method: "POST", headers, body });
       const stored = (await sandbox.plants()).map((plant) => plant.id);
       if (stored.length !== 2 || stored[1] !== id) throw new Error(String(stored));
       await sandbox.reset();
       if ((await sandbox.plants()).length !== 1) throw new Error("The reset left a plant");
       if (index % 2 === 0) await sandbox.close();
       return [sandbox.url, sandbox.adminUrl];
     }`,
  );
  const child = Bun.spawn([process.execPath, folder.file("program.mjs")], {
    env: { PATH: process.env.PATH ?? "", TMPDIR: temporary },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    detached: true,
  });
  const line = await new Output(child.stdout).until((text) => (text.endsWith("\n") ? text : undefined));
  const urls = JSON.parse(line) as string[];
  expect(new Set(urls).size).toBe(200);
  expect(sessionOf(child.pid)).toHaveLength(51);
  expect(readdirSync(temporary)).toHaveLength(0);
  child.kill("SIGKILL");
  while (sessionOf(child.pid).length > 0) await Bun.sleep(5);
  expect(readdirSync(temporary)).toEqual([]);
  const answers = await Promise.allSettled(urls.map((url) => fetch(url)));
  expect(answers.filter(({ status }) => status === "fulfilled")).toEqual([]);
}, 120_000);
