// The target file of backup and restore in each state.

import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { PartialFile } from "../../../src/transfer/partial-file.ts";
import { describeUnless, programPath } from "../../support/programs.ts";
import type { CommandResult, TemporaryFolder } from "../../support/server.ts";
import {
  type CommandName,
  commandNames,
  createStoreFolders,
  execute,
  expectRefusal,
  expectSuccess,
  fileNames,
  leaveLog,
  plantsIn,
  setModes,
  snapshot,
  unfinished,
} from "../../support/store-folders.ts";

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
  readonly umask?: number;
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
    umask: 0,
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

const stores = await createStoreFolders();
afterAll(() => stores[Symbol.dispose]());

/** Runs a case in this process. */
async function executeCase(
  command: CommandName,
  folder: TemporaryFolder,
  { target = "new.db", source, keep, umask }: Case,
): Promise<CommandResult> {
  const before = process.umask();
  if (umask !== undefined) process.umask(umask);
  try {
    return await execute(command, folder, target, { source, force: keep !== true });
  } finally {
    process.umask(before);
  }
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

test("restore over a store that is open is refused, and says so", async () => {
  using folder = stores.newFolder();
  using open = new Database(folder.file("other.db"));
  open.run("PRAGMA journal_mode = WAL");
  open.query("SELECT count(*) FROM plants").get();
  const restored = await execute("restore", folder, "other.db", { force: true });
  expectRefusal(restored, /other\.db is open, perhaps in a server; stop it first/);
});

test("a file that is not whole is private, and goes away", () => {
  using folder = stores.newFolder();
  const before = readdirSync(folder.path);
  {
    using file = new PartialFile(folder.file("new.db"));
    expect((statSync(file.path).mode & 0o777).toString(8)).toBe("600");
  }
  expect(readdirSync(folder.path)).toEqual(before);
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
