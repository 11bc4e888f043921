// The file by which a program learns a sandbox's addresses, in a folder in which others may write
// too.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { ReadyFile } from "../../../src/process/ready-file.ts";
import { eventually } from "../../support/eventually.ts";
import { TemporaryFolder } from "../../support/server.ts";

const state = {
  url: "http://127.0.0.1:1",
  resourcesUrl: "http://127.0.0.1:1/plants",
  collections: { plants: "http://127.0.0.1:1/plants" },
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

test("it appears as a whole", async () => {
  using folder = new TemporaryFolder();
  // A rename into place is one event; a file that is written in place has others.
  const events: string[] = [];
  const watcher = watch(folder.path, (kind, name) => {
    if (name === "ready.json") events.push(kind);
  });
  using ready = new ReadyFile(folder.file("ready.json"));
  ready.write(state);
  await eventually("the events of the file", () => events.length > 0);
  watcher.close();
  expect(new Set(events)).toEqual(new Set(["rename"]));
});

test("it replaces that of a sandbox that was killed; any other file is an error", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("ready.json");
  writeFileSync(path, JSON.stringify({ ...state, pid: 1 }));
  {
    using ready = new ReadyFile(path);
    expect(readdirSync(folder.path)).toEqual([]);
    ready.write(state);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(state);
  }
  for (const text of ["precious", "{}", "null"]) {
    writeFileSync(path, text);
    const message = `--ready-file ${path} is not a file that a sandbox has written; name another`;
    expect(() => new ReadyFile(path)).toThrow(expect.objectContaining({ message, exitCode: 2 }));
    expect(readFileSync(path, "utf8")).toBe(text);
  }
  using nowhere = new ReadyFile("/nowhere/ready.json");
  expect(() => nowhere.write(state)).toThrow("--ready-file /nowhere/ready.json cannot be written (ENOENT)");
});
