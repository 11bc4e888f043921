// npm run dev: the server is started again when a source file changes.

import { expect, test } from "bun:test";
import { appendFileSync, cpSync, symlinkSync } from "node:fs";
import { eventually } from "../../support/eventually.ts";
import { Output } from "../../support/output.ts";
import { acceptsConnections } from "../../support/ports.ts";
import { stuckCreate } from "../../support/raw-connection.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const root = new URL("../../../", import.meta.url).pathname;

test("npm run dev restarts the server on a change, also of a file that only a worker loads", async () => {
  using folder = new TemporaryFolder();
  for (const path of ["src", "bin", "scripts", "package.json", "openapi.yaml"])
    cpSync(`${root}${path}`, folder.file(path), { recursive: true });
  symlinkSync(`${root}node_modules`, folder.file("node_modules"));
  const args = ["--port", "0", "--admin-port", "0", "--drain-seconds-max", "1"];
  const child = Bun.spawn([process.execPath, "scripts/dev.ts", ...args], {
    cwd: folder.path,
    env: { PATH: `${root}node_modules/.bin:${process.env.PATH}` },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const output = new Output(child.stdout);
  const started = (times: number) =>
    output.until((text) => {
      const urls = text.match(/^http:\S+$/gm) ?? [];
      return urls.length >= times ? urls : undefined;
    });
  const [token = ""] = await output.until((text) => /pst_[\w-]{43}/.exec(text) ?? undefined);
  for (const [index, file] of ["src/http/cors.ts", "src/store/sqlite/plants.ts"].entries()) {
    appendFileSync(folder.file(file), "\n// Changed.\n");
    await started(index + 2);
  }
  const [url = ""] = (await started(3)).slice(-1);
  expect((await fetch(`${url}/openapi.json`)).status).toBe(200);

  // A request that has not arrived delays the end of the server, and another file changes
  // meanwhile.
  await stuckCreate({ url, token }, "Content-Length: 100", "{");
  const change = () => appendFileSync(folder.file("src/http/cors.ts"), "\n// Changed.\n");
  change();
  const port = Number(new URL(url).port);
  await eventually("the server stops", async () => !(await acceptsConnections(port)));
  change();
  await started(4);
  child.kill();
  await child.exited;
  // None of them is left.
  for (const [each] of (await output.ended).matchAll(/^http:\S+$/gm))
    expect(await settled(fetch(each))).toThrow();
});
