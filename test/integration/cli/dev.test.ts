// npm run dev: the server is started again when a source file changes.

import { expect, test } from "bun:test";
import { appendFileSync, cpSync, symlinkSync } from "node:fs";
import { Output } from "../../support/output.ts";
import { TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../../", import.meta.url).pathname;

test("npm run dev restarts the server on a change, also of a file that only a worker loads", async () => {
  using folder = new TemporaryFolder();
  for (const path of ["src", "bin", "scripts", "package.json", "openapi.yaml"])
    cpSync(`${root}${path}`, folder.file(path), { recursive: true });
  symlinkSync(`${root}node_modules`, folder.file("node_modules"));
  const child = Bun.spawn([process.execPath, "scripts/dev.ts", "--port", "0", "--admin-port", "0"], {
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
  await started(1);
  for (const [index, file] of ["src/core/http/cors.ts", "src/core/store/sqlite/plants.ts"].entries()) {
    appendFileSync(folder.file(file), "\n// Changed.\n");
    await started(index + 2);
  }
  const [url = ""] = (await started(3)).slice(-1);
  expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
  child.kill();
  await child.exited;
  await expect(fetch(url)).rejects.toThrow();
});
