// The target file of backup and restore in each state.

import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { Load } from "../../support/load.ts";
import { describeUnless, programPath } from "../../support/programs.ts";
import {
  type CommandResult,
  plantstore,
  RunningServer,
  run,
  runProgram,
  type TemporaryFolder,
} from "../../support/server.ts";
import { exported, storePlants } from "../../support/stored-plants.ts";
import {
  argumentsOf,
  type CommandName,
  commandNames,
  createStoreFolders,
  execute,
  expectSuccess,
  fileNames,
  leaveLog,
  plantsIn,
  setModes,
  snapshot,
  unfinished,
} from "./backup-restore-setup.ts";
import { mounted, notMounted } from "./mounts.ts";

/**
 * Exit code 0 and this number of plants in the written file; or an error of one line, with exit
 * code 1 by default, and no change.
 */
type Outcome = { readonly plants: number } | { readonly refusal: RegExp; readonly exitCode?: number };

interface Case {
  readonly name: string;
  /** Adds to the files that every folder has. */
  readonly arrange?: (folder: TemporaryFolder) => unknown;
  /** The file that the command writes: the copy of backup, the store of restore. */
  readonly target?: string;
  /** The file that restore reads, if not backup.db. */
  readonly source?: string;
  /** Whether restore has no --force. */
  readonly keep?: boolean;
  /** In octal. */
  readonly umask?: string;
  readonly backup: Outcome;
  readonly restore: Outcome;
  /** The mode that a written file has then, in octal. */
  readonly mode?: string;
}

const anOldStore = (folder: TemporaryFolder) => copyFileSync(folder.file("backup.db"), folder.file("old.db"));

const written = { backup: { plants: 3 }, restore: { plants: 2 } } as const;
const isThere: Outcome = { refusal: /exists already; name another file for the backup/ };
const refused = (refusal: RegExp): Outcome => ({ refusal });
const bothRefused = (refusal: RegExp) => ({ backup: { refusal }, restore: { refusal } });

const cases: readonly Case[] = [
  // The store itself, under any name.
  ...(
    [
      ["the store itself", "plants.db", () => undefined],
      ["a link to the store", "link.db", symlinkSync],
    ] as const
  ).map(([name, target, link]) => ({
    name,
    arrange: (folder: TemporaryFolder) => link(folder.file("plants.db"), folder.file(target)),
    target,
    source: "plants.db",
    backup: isThere,
    restore: refused(/is the store itself/),
  })),
  ...["-wal", "-shm", "-journal", "-disk-failed"].map((suffix) => ({
    name: `the name of the store's ${suffix}`,
    target: `plants.db${suffix}`,
    backup: refused(new RegExp(`a name that ends with ${suffix} is`)),
    // A value of --database that no store can have.
    restore: { refusal: new RegExp(`a name that ends with ${suffix} is`), exitCode: 2 },
  })),

  // States of the target before the command.
  { name: "no file", keep: true, ...written },
  {
    name: "an empty file",
    arrange: (folder) => writeFileSync(folder.file("new.db"), ""),
    keep: true,
    backup: isThere,
    restore: { plants: 2 },
  },
  {
    name: "an existing file, without --force",
    arrange: anOldStore,
    target: "old.db",
    keep: true,
    backup: isThere,
    restore: refused(/exists; move it away, or replace the whole store with --force/),
  },
  {
    name: "a link to a store",
    arrange: (folder) => {
      anOldStore(folder);
      symlinkSync("old.db", folder.file("link.db"));
    },
    target: "link.db",
    backup: isThere,
    restore: { plants: 2 },
  },
  {
    name: "another store, killed",
    arrange: (folder) => leaveLog(folder.file("other.db")),
    target: "other.db",
    backup: isThere,
    restore: { plants: 2 },
  },
  {
    name: "another store, whose disk has failed",
    arrange: (folder) => writeFileSync(folder.file("other.db-disk-failed"), "disk I/O error\n"),
    target: "other.db",
    backup: isThere,
    restore: { plants: 2 },
  },
  {
    name: "the log of a store that was moved away",
    arrange: (folder) => {
      leaveLog(folder.file("other.db"));
      renameSync(folder.file("other.db"), folder.file("elsewhere.db"));
    },
    target: "other.db",
    backup: refused(/other\.db-wal exists already/),
    restore: refused(/other\.db-wal holds commits of another database: there is no/),
  },
  {
    name: "a file of another kind",
    arrange: (folder) => writeFileSync(folder.file("notes.txt"), "water them ".repeat(1_000)),
    target: "notes.txt",
    backup: isThere,
    restore: refused(/notes\.txt cannot be replaced .*move it away/),
  },
  {
    name: "another program's database",
    arrange: (folder) => runIn(folder.file("songs.db"), "CREATE TABLE songs (title TEXT)"),
    target: "songs.db",
    backup: isThere,
    restore: refused(/songs\.db is a SQLite database, but not a plant store/),
  },
  {
    name: "a folder",
    arrange: (folder) => mkdirSync(folder.file("new.db")),
    backup: isThere,
    restore: refused(/new\.db is a folder/),
  },
  {
    name: "a FIFO",
    arrange: (folder) => spawnSync(programPath("mkfifo"), [folder.file("new.db")]),
    backup: isThere,
    restore: refused(/new\.db is not a regular file/),
  },
  {
    name: "a dangling link",
    arrange: (folder) => symlinkSync("nowhere.db", folder.file("link.db")),
    target: "link.db",
    ...bothRefused(/link\.db is a link to .*nowhere\.db, which does not exist/),
  },
  { name: "a missing folder", target: "none/new.db", ...bothRefused(/the folder .*none does not exist/) },

  // Permissions.
  {
    name: "private sources",
    arrange: (folder) => setModes(folder, 0o600),
    umask: "000",
    mode: "600",
    ...written,
  },
  {
    name: "an earlier store that a group may write",
    arrange: (folder) => {
      anOldStore(folder);
      chmodSync(folder.file("old.db"), 0o660);
    },
    target: "old.db",
    mode: "660",
    backup: isThere,
    restore: { plants: 2 },
  },
];

function expectRefusal({ exitCode, stderr }: CommandResult, refusal: RegExp, expectedCode = 1): void {
  expect(stderr).toMatch(refusal);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
  expect(exitCode).toBe(expectedCode);
}

const stores = await createStoreFolders();
afterAll(() => stores[Symbol.dispose]());

/** Runs a case in this process, or in a shell if it is about the umask. */
function executeCase(
  command: CommandName,
  folder: TemporaryFolder,
  { target = "new.db", source, keep, umask }: Case,
): Promise<CommandResult> {
  const args = [command, folder, target, { source, force: keep !== true }] as const;
  if (umask === undefined) return execute(...args);
  return runProgram(["sh", "-c", `umask ${umask}; exec "$0" "$@"`, plantstore, ...argumentsOf(...args)]);
}

for (const command of commandNames) {
  describe(command, () => {
    test.each(cases)("$name", async (each) => {
      using folder = stores.newFolder();
      each.arrange?.(folder);
      const before = snapshot(folder.path);
      const result = await executeCase(command, folder, each);
      const outcome = each[command];
      if ("refusal" in outcome) {
        expectRefusal(result, outcome.refusal, outcome.exitCode);
        expect(snapshot(folder.path)).toEqual(before);
        return;
      }
      expectSuccess(result);
      const { target = "new.db" } = each;
      const file = folder.file(target);
      expect(plantsIn(file)).toBe(outcome.plants);
      expect(unfinished(folder.path)).toEqual([]);
      expect(lstatSync(file).isSymbolicLink()).toBe(before[target]?.startsWith("12") ?? false);
      if (each.mode !== undefined) expect((statSync(file).mode & 0o777).toString(8)).toBe(each.mode);
      // Only the target has changed.
      const after = snapshot(folder.path);
      for (const name of fileNames.filter((name) => name !== target)) expect(after[name]).toBe(before[name]);
    });

    test("a file that a server under load has open: refused, and the server loses nothing", async () => {
      using folder = stores.newFolder();
      const database = `sqlite:${folder.file("plants.db")}`;
      await using server = await RunningServer.start({ database });
      const load = new Load();
      const token = await server.createToken();
      // With pauses: the commands need the processors, too.
      load.start([{ url: server.url, token }], 8, 10);
      await load.acknowledgedMore(50);
      symlinkSync("plants.db", folder.file("link.db"));
      linkSync(folder.file("plants.db"), folder.file("hard.db"));
      for (const name of ["plants.db", "link.db", "hard.db", "plants.db-wal"])
        for (const source of ["plants.db", "other.db"]) {
          const result = await run(argumentsOf(command, folder, name, { source, force: true }));
          // 2: a value of --database that no store can have.
          expectRefusal(result, /./, command === "restore" && name === "plants.db-wal" ? 2 : 1);
        }
      await load.acknowledgedMore(50);
      await load.stop();
      expect([...load.statuses.keys()]).toEqual([200]);
      await server.stop("SIGKILL");
      rmSync(folder.file("hard.db"));
      const faults = load.audit(await exported(database));
      // The plants that were there before.
      const others = [0, 1, 2].map((id) => `changed or never sent: ${id}`);
      expect(faults.toSorted()).toEqual(others);
    });
  });
}

/** Makes from.db: a copy of another file that is then changed. */
const copyOf = (name: string, change: (path: string) => void) => (folder: TemporaryFolder) => {
  copyFileSync(folder.file(name), folder.file("from.db"));
  change(folder.file("from.db"));
};

function overwriteMiddle(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 5_000));
}

function runIn(path: string, sql: string): void {
  using database = new Database(path);
  database.run(sql);
}

const fifo = (folder: TemporaryFolder) => spawnSync(programPath("mkfifo"), [folder.file("from.db")]);
const sources: readonly [CommandName, string, (folder: TemporaryFolder) => unknown, RegExp][] = [
  ["restore", "none", () => undefined, /there is no backup/],
  ["backup", "none", () => undefined, /there is no store at .*from\.db; name the store with --database/],
  ["restore", "a folder", (folder) => mkdirSync(folder.file("from.db")), /from\.db is a folder/],
  ["backup", "a FIFO", fifo, /from\.db is not a regular file/],
  [
    "restore",
    "a store whose disk has failed",
    copyOf("other.db", (path) => writeFileSync(`${path}-disk-failed`, "disk I/O error\n")),
    /is a store and not a backup, as .*from\.db-disk-failed belongs to it/,
  ],
  [
    "restore",
    "a store that is in use",
    copyOf("other.db", leaveLog),
    /is a store and not a backup, as .*from\.db-wal belongs to it/,
  ],
  [
    "restore",
    "a backup that is cut off",
    copyOf("backup.db", (path) => truncateSync(path, statSync(path).size - 8_192)),
    /from\.db is/,
  ],
  ["restore", "a damaged backup", copyOf("backup.db", overwriteMiddle), /from\.db is/],
  [
    "backup",
    "a damaged store",
    copyOf("plants.db", overwriteMiddle),
    /could not be backed up to .*malformed/,
  ],
  [
    "restore",
    "text",
    (folder) => writeFileSync(folder.file("from.db"), "not a database file ".repeat(1_000)),
    /from\.db is damaged, or not a store/,
  ],
  ["restore", "an empty file", copyOf("backup.db", truncateSync), /from\.db is not a plant store/],
  [
    "restore",
    "another program's database",
    (folder) => runIn(folder.file("from.db"), "CREATE TABLE songs (title TEXT)"),
    /from\.db is a SQLite database, but not a plant store/,
  ],
  [
    "restore",
    "a backup of a newer version",
    copyOf("backup.db", (path) => runIn(path, "PRAGMA user_version = 99")),
    /from\.db has schema version 99/,
  ],
];
test.each(sources)("%s from %s is refused", async (command, _, arrange, refusal) => {
  using folder = stores.newFolder();
  arrange(folder);
  const before = snapshot(folder.path);
  for (const target of command === "restore" ? ["new.db", "other.db"] : ["new.db"]) {
    const given = { source: "from.db", force: target === "other.db" };
    expectRefusal(await execute(command, folder, target, given), refusal);
    expect(snapshot(folder.path)).toEqual(before);
  }
});

const notRoot = process.getuid?.() === 0 ? undefined : "only root gives files away";

describeUnless(notRoot, "owners", () => {
  test("restore: a store that is replaced has the owner that it had", async () => {
    using folder = stores.newFolder();
    const file = folder.file("other.db");
    chmodSync(file, 0o640);
    chownSync(file, 61_234, 61_234);
    expectSuccess(await execute("restore", folder, "other.db", { force: true }));
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([61_234, 61_234, 0o640]);
  });
});

describeUnless(notMounted, "a file system", () => {
  test.each(commandNames)("that is read-only: %s fails, and nothing is changed", async (command) => {
    using folder = stores.newFolder();
    using disk = mounted(folder.file("disk"));
    copyFileSync(folder.file("other.db"), folder.file("disk/other.db"));
    disk?.makeReadOnly();
    expectRefusal(await execute(command, folder, "disk/new.db"), /EROFS/);
    expect(readdirSync(folder.file("disk"))).toEqual(["other.db"]);
  });

  test.each(commandNames)("that is full: %s fails, and nothing is changed", async (command) => {
    using folder = stores.newFolder();
    using _ = mounted(folder.file("disk"));
    copyFileSync(folder.file("plants.db"), folder.file("large.db"));
    const plants = Array.from({ length: 4_000 }, (_, id) => ({
      id: BigInt(id + 1_000),
      name: "x".repeat(1_000),
    }));
    await storePlants(`sqlite:${folder.file("large.db")}`, plants);
    const old = command === "backup" ? "backup.db" : "other.db";
    copyFileSync(folder.file(old), folder.file("disk/old.db"));
    const before = snapshot(folder.file("disk"));
    for (const name of command === "backup" ? ["new.db"] : ["old.db", "new.db"]) {
      const given = { source: "large.db", force: true };
      expectRefusal(await execute(command, folder, `disk/${name}`, given), /full|ENOSPC/);
      expect(snapshot(folder.file("disk"))).toEqual(before);
    }
  });
});
