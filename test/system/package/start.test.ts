// npm start in a fresh clone: it installs what is missing, says so, and starts.

import { expect, test } from "bun:test";
import { npmEnvironment } from "../../support/npm-packages.ts";
import { Output } from "../../support/output.ts";
import { killGroup } from "../../support/processes.ts";
import { copyRepository } from "../../support/repository-copy.ts";
import { TemporaryFolder } from "../../support/server.ts";

test("the first start installs, and the second does not", async () => {
  using folder = new TemporaryFolder();
  const clone = folder.file("clone");
  await copyRepository(clone);
  const args = ["--port", "0", "--admin-port", "0", "--database", `sqlite:${folder.file("plants.db")}`];
  const before: string[][] = [];
  for (let time = 0; time < 2; time++) {
    const npm = Bun.spawn(["npm", "--silent", "start", "--", ...args], {
      cwd: clone,
      env: { ...process.env, ...npmEnvironment },
      stdout: "pipe",
      stderr: "ignore",
      detached: true,
    });
    const text = await new Output(npm.stdout).until((each) => (/^http:.*\n/m.test(each) ? each : undefined));
    before.push(text.slice(0, text.indexOf("http:")).split("\n").filter(Boolean));
    await killGroup(npm);
  }
  expect(before).toEqual([["npm ci: installs what is missing, once"], []]);
});
