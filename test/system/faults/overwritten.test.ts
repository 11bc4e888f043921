// Files of a store that another program overwrites in place, under a server or before a start.
// files.test.ts removes and replaces them.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { backUp } from "../../../src/operations/backup/backup.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { createStore, RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";

type Folder = TemporaryFolder & Disposable;

/** Writes over a file without a new one in its place, as cp does. */
function overwrite(folder: Folder, from: string, to: string): void {
  writeFileSync(folder.file(to), readFileSync(folder.file(from)));
}

const accidents: readonly (readonly [name: string, suffix: string, happen: (folder: Folder) => void])[] = [
  ["cp backup.db plants.db", "", (folder) => overwrite(folder, "backup.db", "plants.db")],
  ["cp stopped.db plants.db", "", (folder) => overwrite(folder, "stopped.db", "plants.db")],
  [": > plants.db", "", (folder) => truncateSync(folder.file("plants.db"))],
  [": > plants.db-wal", "-wal", (folder) => truncateSync(folder.file("plants.db-wal"))],
  [
    "a log that is cut after its first page",
    "-wal",
    (folder) => truncateSync(folder.file("plants.db-wal"), 32 + 24 + 4_096),
  ],
];

const plants = 500;

/**
 * A folder with backup.db, stopped.db, an earlier state of the store, and plants.db with the log
 * that a killed server left.
 */
const template = new TemporaryFolder();
afterAll(() => template[Symbol.dispose]());
let token = "";
beforeAll(async () => {
  const database = `sqlite:${template.file("plants.db")}`;
  await createStore(database);
  copyFileSync(template.file("plants.db"), template.file("stopped.db"));
  await using server = await RunningServer.start({ database });
  token = await server.createToken();
  for (const first of [0n, 1_000n]) {
    const more = Array.from({ length: plants / 2 }, (_, id) => ({
      id: first + BigInt(id),
      name: `plant ${id}`,
    }));
    await storePlants(database, more);
    using other = new Database(template.file("plants.db"));
    if (first === 0n) other.query("PRAGMA wal_checkpoint(PASSIVE)").values();
  }
  backUp(database, template.file("backup.db"), false);
  await server.stop("SIGKILL");
});

/** Starts a server on a copy of that folder. */
async function prepare(folder: Folder): Promise<RunningServer> {
  cpSync(template.path, folder.path, { recursive: true });
  const server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
  // The log has frames of this server, too.
  const target = { url: server.url, token };
  for (let id = 10_000n; id < 10_010n; id++)
    expect((await post(target, plantJson(id, "here"))).status).toBe(200);
  return server;
}

/** How the server is used while it happens. */
const uses = ["idle", "under load"] as const;

// Most of their time is pauses.
describe.concurrent.each(accidents)("%s", (_, suffix, happen) => {
  test.each(uses)("%s: soon creates get 503, and the server is not ready", async (use) => {
    using folder = new TemporaryFolder();
    await using server = await prepare(folder);
    const admin = await server.adminUrl();
    const load = new Load();
    // With pauses: the other tests need the processors, too.
    if (use === "under load") load.start([{ url: server.url, token }], 8, 10);
    // Checks have seen the files, and the load has restarted none of them.
    await Bun.sleep(500);
    expect((await fetch(`${admin}/readyz`)).status).toBe(200);
    happen(folder);
    const reason = `plants.db${suffix} was overwritten while it was open`;
    // It takes the server less than a second, unless other tests have the processors.
    await eventually(
      "the server is not ready",
      async () => (await fetch(`${admin}/readyz`)).text(),
      (text) => text.includes(reason),
    );
    const refused = await post({ url: server.url, token }, plantJson(1n, "late"));
    expect(refused.json).toMatchObject({ error: 50300 });
    const line = await server.logged(({ level }) => level === "warn");
    expect(line.reason).toContain(reason);
    const acknowledged = load.acknowledged.size;
    await Bun.sleep(100);
    expect(load.acknowledged.size).toBe(acknowledged);
    await load.stop();
    // The files stay as they are, for whoever wants to rescue something.
    const left = () =>
      ["plants.db", "plants.db-wal"].map((name) => Bun.hash(readFileSync(folder.file(name))));
    const before = left();
    expect((await server.stop()).exitCode).toBe(0);
    expect(left()).toEqual(before);
  });
});

test("a store whose file and log belong together again starts after that", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await prepare(folder);
  overwrite(folder, "backup.db", "plants.db");
  await Bun.sleep(500);
  await server.stop();
  const database = `sqlite:${path}`;
  const refused = {
    exitCode: 1,
    stdout: "",
    stderr: `plantstore: ${path} was copied over a store whose newest plants are in ${path}-wal; move that file and ${path}-shm away to use the copy\n`,
  };
  for (const command of [
    ["serve", "--port", "0", "--admin-port", "off"],
    ["migrate"],
    ["export"],
    ["backup", folder.file("new.db")],
  ])
    expect(await runCommand([...command, "--database", database])).toEqual(refused);
  for (const suffix of ["-wal", "-shm"]) renameSync(path + suffix, folder.file(`away${suffix}`));
  const { stdout, exitCode } = await runCommand(["export", "--database", database]);
  expect(exitCode).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(plants);
});

test("an empty file beside the log of a store is refused: SQLite would remove the log", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await prepare(folder);
  await server.stop("SIGKILL");
  truncateSync(path);
  const { exitCode, stderr } = await runCommand(["migrate", "--database", `sqlite:${path}`]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("whose newest plants are in")]);
  expect(existsSync(`${path}-wal`)).toBe(true);
});

test("what others may do to an open store is no accident", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await prepare(folder);
  await using second = await RunningServer.start({ database: server.database });
  const load = new Load();
  load.start(
    [server, second].map(({ url }) => ({ url, token })),
    16,
  );
  writeFileSync(
    folder.file("plants.ndjson"),
    Array.from({ length: 12_000 }, (_, id) => `${plantJson(BigInt(id + 20_000), "x".repeat(2_000))}\n`).join(
      "",
    ),
  );
  chmodSync(path, 0o660);
  utimesSync(path, 0, 0);
  expect((await server.command("import", folder.file("plants.ndjson"), "--quiet")).exitCode).toBe(0);
  {
    using other = new Database(path);
    other.run("PRAGMA busy_timeout = 60000");
    other.run("DELETE FROM plants WHERE id BETWEEN 20000 AND 32000");
    // The load goes on between its attempts.
    for (let attempt = 0; attempt < 100; attempt++)
      try {
        other.run("VACUUM");
        break;
      } catch {
        await Bun.sleep(20);
      }
    other.run("PRAGMA wal_checkpoint(TRUNCATE)");
    await load.acknowledgedMore(500);
    other.run("PRAGMA wal_checkpoint(RESTART)");
    await load.acknowledgedMore(500);
  }
  await Bun.sleep(500);
  await load.stop();
  for (const each of [server, second])
    expect(await (await fetch(`${await each.adminUrl()}/readyz`)).text()).toBe("ready\n");
  expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  const { stderr } = await server.stop();
  expect(stderr).not.toContain("overwritten");
  await second.stop();
});
