// A second path to the file of a store, by a hard link or a mount of the single file: SQLite would
// keep a second write-ahead log beside it, and the two logs would overwrite each other's pages.

import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { pathOf } from "../../support/programs.ts";
import {
  createStore,
  plantstore,
  RunningServer,
  runCommand,
  runIn,
  TemporaryFolder,
} from "../../support/server.ts";

/** The commands that open a store each in a way of its own, with the path of one. */
const commandsOf = (database: string, folder: TemporaryFolder) => [
  ["serve", "--port", "0", "--admin-port", "off", "--database", database],
  ["export", "--database", database],
  ["backup", folder.file("copy.db"), "--database", database],
];

/**
 * A command prefix that mounts files or folders in a namespace of its own, so that no other process
 * sees the mounts.
 */
const mounting = (from: string, to: string) => [
  "unshare",
  "--mount",
  "sh",
  "-ec",
  `mount --bind '${from}' '${to}'; exec "$@"`,
  "sh",
];

const mayMountFiles = (() => {
  if (pathOf("unshare") === null || pathOf("mount") === null) return false;
  using folder = new TemporaryFolder();
  for (const name of ["a", "b"]) writeFileSync(folder.file(name), "");
  const [program = "", ...args] = mounting(folder.file("a"), folder.file("b"));
  return spawnSync(program, [...args, "true"]).status === 0;
})();
const testMount = mayMountFiles ? test : test.skip;
const skipped = mayMountFiles ? "" : " (skipped: only root may mount)";

test("a store with a second hard link is refused by every command, beside its server too, and by the next start", async () => {
  using folder = new TemporaryFolder();
  const [path, other] = [folder.file("plants.db"), folder.file("other/plants.db")];
  mkdirSync(folder.file("other"));
  await using server = await RunningServer.start({ database: `sqlite:${path}` });
  const target = await server.target();
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  linkSync(path, other);
  for (const name of [other, path])
    for (const command of commandsOf(`sqlite:${name}`, folder))
      expect(await runCommand(command)).toEqual({
        exitCode: 1,
        stdout: "",
        stderr: `plantstore: ${name} has 2 hard links, and a store must have one, as SQLite keeps the newest plants in a file next to it; find the other with "find -samefile", and remove or copy it\n`,
      });
  expect(readdirSync(folder.file("other"))).toEqual(["plants.db"]);
  // The server has the only log.
  expect((await post(target, plantJson(2n, "Ficus"))).status).toBe(200);
  rmSync(other);
  expect((await server.command("export")).stdout.split("\n")).toHaveLength(3);
});

testMount(
  `a mount of the single file is refused by every command, and that of its folder is not${skipped}`,
  async () => {
    using folder = new TemporaryFolder();
    for (const name of ["host", "with space"]) mkdirSync(folder.file(name));
    const [path, mounted] = [folder.file("host/plants.db"), folder.file("with space/plants.db")];
    await using server = await RunningServer.start({ database: `sqlite:${path}` });
    const target = await server.target();
    expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
    writeFileSync(mounted, "");
    symlinkSync(mounted, folder.file("link.db"));
    const files = mounting(path, mounted);
    for (const name of [mounted, folder.file("link.db")])
      for (const command of commandsOf(`sqlite:${name}`, folder))
        expect(await runIn(folder.path, [...files, plantstore, ...command])).toEqual({
          exitCode: 1,
          stdout: "",
          stderr: `plantstore: ${mounted} is mounted by itself, and SQLite keeps the newest plants in a file next to it; mount its folder instead\n`,
        });
    expect(readdirSync(folder.file("with space"))).toEqual(["plants.db"]);

    // Two servers with one path each share the log if the folder is mounted.
    mkdirSync(folder.file("whole"));
    await using second = await RunningServer.start({
      database: `sqlite:${folder.file("whole/plants.db")}`,
      under: mounting(folder.file("host"), folder.file("whole")),
    });
    expect((await post({ ...target, url: second.url }, plantJson(2n, "Ficus"))).status).toBe(200);
    expect((await post(target, plantJson(2n, "Ficus"))).status).toBe(200);
    expect((await post(target, plantJson(2n, "other"))).status).toBe(400);
    expect((await server.command("export")).stdout.split("\n")).toHaveLength(3);
  },
);

testMount(`a log that is mounted by itself is refused as the store is${skipped}`, async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await createStore(`sqlite:${path}`);
  for (const name of ["plants.db-wal", "log"]) writeFileSync(folder.file(name), "");
  const under = mounting(folder.file("log"), `${path}-wal`);
  const stats = [plantstore, "stats", "--database", `sqlite:${path}`];
  const { exitCode, stderr } = await runIn(folder.path, [...under, ...stats]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("plants.db-wal is mounted by itself")]);
});

test("restore neither reads a store by a second path nor replaces one that has two", async () => {
  using folder = new TemporaryFolder();
  const [path, other, backup] = [folder.file("plants.db"), folder.file("other.db"), folder.file("backup.db")];
  await createStore(`sqlite:${path}`);
  expect((await runCommand(["backup", backup, "--database", `sqlite:${path}`])).exitCode).toBe(0);
  linkSync(path, other);
  for (const args of [
    [other, "--database", `sqlite:${folder.file("new.db")}`],
    [backup, "--database", `sqlite:${other}`, "--force"],
  ])
    expect(await runCommand(["restore", ...args])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`${other} has 2 hard links`),
    });
  // Tools that keep several generations link the backups that have not changed.
  linkSync(backup, folder.file("older.db"));
  rmSync(other);
  expect((await runCommand(["backup", backup, "--database", `sqlite:${path}`, "--force"])).exitCode).toBe(0);
  expect(
    (await runCommand(["restore", folder.file("older.db"), "--database", `sqlite:${other}`])).exitCode,
  ).toBe(0);
});
