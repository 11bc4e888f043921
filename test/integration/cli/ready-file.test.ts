// The file by which a program learns a sandbox's addresses, in a folder in which others may write
// too.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { ReadyFile } from "../../../src/cli/ready-file.ts";
import { TemporaryFolder } from "../../support/server.ts";

const state = {
  url: "http://127.0.0.1:1",
  plantsUrl: "http://127.0.0.1:1/plants",
  token: "t",
  adminUrl: null,
  controlUrl: null,
  pid: process.pid,
};

test("no link that another user puts there in advance is followed, and the file is private", () => {
  using folder = new TemporaryFolder();
  const [path, victim] = [folder.file("ready.json"), folder.file("victim")];
  writeFileSync(victim, "precious");
  {
    using ready = new ReadyFile(path);
    for (const name of [path, `${path}.${process.pid}`]) symlinkSync(victim, name);
    ready.write(state);
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(state);
    expect((statSync(path).mode & 0o777).toString(8)).toBe("600");
  }
  expect(readdirSync(folder.path).toSorted()).toEqual([`ready.json.${process.pid}`, "victim"]);
});
