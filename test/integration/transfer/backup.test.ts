// plantstore backup and restore: copies under load, and sources that are damaged or not stores.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from "node:fs";
import { writeFailureMarker } from "../../../src/store/sqlite/disk-failure.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { plantstore, RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { exported, storePlants } from "../../support/stored-plants.ts";

/** A store with `count` plants, and a file that they can be imported from. */
async function newStore(folder: TemporaryFolder, name: string, count: number): Promise<string> {
  const database = `sqlite:${folder.file(name)}`;
  const plants = Array.from({ length: count }, (_, id) => ({ id: BigInt(id), name: `plant ${id}` }));
  await storePlants(database, plants);
  writeFileSync(folder.file("plants.ndjson"), await exported(database));
  return database;
}

test("a backup under load is one complete snapshot with every plant that was acknowledged before", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await using server = await RunningServer.startInProcess({ database });
  const target = await server.target();
  const load = new Load();
  load.start([target], 16);
  await load.acknowledgedMore(2_000);
  const acknowledgedBefore = new Set(load.acknowledged);

  const copy = folder.file("copy.db");
  const { exitCode, stderr } = await server.command("backup", copy);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: expect.stringMatching(/copy\.db: [\d,]+ plants, verified\.\n$/),
  });
  await load.stop();
  // Creates continued during the backup.
  expect([...load.statuses.keys()]).toEqual([200]);

  // A single file with exactly the plants of the store.
  expect(readdirSync(folder.path).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
  const text = await exported(`sqlite:${copy}`);
  const ids = new Set([...text.matchAll(/^\{"id":(-?\d+)/gm)].map(([, id]) => BigInt(id ?? "")));
  expect([...acknowledgedBefore].filter((id) => !ids.has(id))).toEqual([]);
  const acknowledgedThen = text
    .split("\n")
    .filter((line) => line !== "" && ![...load.sent.values()].includes(line));
  expect(acknowledgedThen).toEqual([]);
});

test("a backup is restored: plants, tokens, and a server that runs on them", async () => {
  using folder = new TemporaryFolder();
  const database = await newStore(folder, "plants.db", 500);
  const token = (await runCommand(["token", "create", "--name", "ci", "--database", database])).stdout.trim();
  expect(await runCommand(["backup", folder.file("copy.db"), "--database", database])).toEqual({
    exitCode: 0,
    stdout: "",
    stderr: `${folder.file("copy.db")}: 500 plants, verified.\n`,
  });
  const other = `sqlite:${folder.file("other.db")}`;
  expect((await runCommand(["restore", folder.file("copy.db"), "--database", other])).stderr).toBe(
    "Restored 500 plants and the tokens of the backup; revoke again those that were revoked since.\n",
  );
  expect(await exported(other)).toBe(readFileSync(folder.file("plants.ndjson"), "utf8"));
  await using server = await RunningServer.startInProcess({ database: other });
  expect((await post({ url: server.url, token }, plantJson(0n, "plant 0"))).status).toBe(200);
  expect((await post({ url: server.url, token }, plantJson(0n, "other"))).status).toBe(400);
  // The backup is unchanged, and can be restored again.
  expect(readdirSync(folder.path).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
});

test("a command that opens the store while it is replaced ends with one line, and the next one has the new store", async () => {
  using folder = new TemporaryFolder();
  const database = await newStore(folder, "plants.db", 10);
  await newStore(folder, "new.db", 20);
  // As restore does it: lock, replace, unlock.
  const lock = new Database(folder.file("plants.db"));
  lock.run("PRAGMA locking_mode = EXCLUSIVE");
  lock.run("PRAGMA journal_mode = DELETE");
  lock.run("BEGIN EXCLUSIVE");
  const list = ["export", "--database", database];
  const opening = Bun.spawn([plantstore, ...list], { stdout: "ignore", stderr: "pipe" });
  await eventually("the command has the store open", () => hasOpen(opening.pid, folder.file("plants.db")));
  renameSync(folder.file("new.db"), folder.file("plants.db"));
  lock.close();
  expect(await opening.stderr.text()).toBe(
    `plantstore: ${folder.file("plants.db")} was replaced while it was being opened; try again\n`,
  );
  expect((await runCommand(list)).stdout.match(/\n/g)).toHaveLength(20);
});

test("a store whose disk has failed is copied, and its failure marker stays", async () => {
  using folder = new TemporaryFolder();
  const database = await newStore(folder, "plants.db", 10);
  await using server = await RunningServer.start({ database });
  await post(await server.target(), plantJson(100n, "in the log"));
  await server.stop("SIGKILL");
  writeFailureMarker(folder.file("plants.db"), "disk I/O error");
  const files = () => ["plants.db", "plants.db-wal"].map((name) => readFileSync(folder.file(name)));
  const before = files();
  const copied = await runCommand(["backup", folder.file("copy.db"), "--database", database]);
  expect(copied.exitCode).toBe(0);
  expect(files()).toEqual(before);
  expect(existsSync(folder.file("plants.db-disk-failed"))).toBe(true);
  const copy = `sqlite:${folder.file("copy.db")}`;
  expect(await exported(copy)).toContain(plantJson(100n, "in the log"));
  expect(await exported(database)).toBe(await exported(copy));
  expect(existsSync(folder.file("plants.db-disk-failed"))).toBe(false);
});

/** Whether a process has a file open, by /proc. */
function hasOpen(pid: number, file: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some(
      (descriptor) => readlinkSync(`/proc/${pid}/fd/${descriptor}`) === file,
    );
  } catch {
    // The descriptor has been closed since readdir.
    return false;
  }
}
