// The target file of backup and restore, in every case; docs/reliability.md has the same table.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { mayMount, mounted } from "../../support/mounts.ts";
import { Output } from "../../support/output.ts";
import { programPath } from "../../support/programs.ts";
import {
  type CommandResult,
  collectResult,
  createStore,
  plantstore,
  RunningServer,
  run,
  TemporaryFolder,
} from "../../support/server.ts";
import { describeIfStrace, injecting } from "../../support/strace.ts";

/** Each starts several processes, some of them under strace. */
setDefaultTimeout(120_000);

type CommandName = "backup" | "restore";

/** Exit code 0 and so many plants in the written file; or exit code 1, one line, and nothing changed. */
type Outcome = { readonly plants: number } | { readonly refusal: RegExp };

interface Case {
  readonly name: string;
  /** What it needs beside the files of every case: plants.db, other.db, backup.db. */
  readonly arrange?: (folder: TemporaryFolder) => unknown;
  /** What the command writes: FILE of backup, the store of restore. */
  readonly target: string;
  /** What restore reads, if not backup.db. */
  readonly source?: string;
  /** Without --force; with it unless this is set. */
  readonly keep?: boolean;
  /** Another umask than 022, in octal. */
  readonly umask?: string;
  /** How the shell redirects the command's outputs. */
  readonly redirected?: string;
  readonly backup: Outcome;
  readonly restore: Outcome;
  /** The mode that a written file has then, in octal. */
  readonly mode?: string;
}

const written = { backup: { plants: 3 }, restore: { plants: 2 } } as const;
const refused = (refusal: RegExp): Outcome => ({ refusal });
const bothRefused = (refusal: RegExp) => ({ backup: { refusal }, restore: { refusal } });

/** In every case: plants.db, a store of 3 plants; other.db, a store of 1; backup.db, a backup of 2. None is open. */
const cases: readonly Case[] = [
  // The store itself, under any name.
  {
    name: "the store itself",
    target: "plants.db",
    source: "plants.db",
    ...bothRefused(/is the store itself/),
  },
  {
    name: "a link to the store",
    arrange: (folder) => symlinkSync("plants.db", folder.file("link.db")),
    target: "link.db",
    source: "plants.db",
    ...bothRefused(/is the store itself/),
  },
  {
    name: "a hard link to the store",
    arrange: (folder) => linkSync(folder.file("plants.db"), folder.file("hard.db")),
    target: "hard.db",
    source: "plants.db",
    ...bothRefused(/is the store itself/),
  },
  {
    name: "the store, by a link to its folder",
    arrange: (folder) => symlinkSync(".", folder.file("here")),
    target: "here/plants.db",
    source: "plants.db",
    ...bothRefused(/is the store itself/),
  },
  ...["-wal", "-shm", "-journal", "-disk-failed"].map((suffix) => ({
    name: `the name of the store's ${suffix}`,
    target: `plants.db${suffix}`,
    ...bothRefused(new RegExp(`a name that ends with ${suffix} is`)),
  })),
  {
    name: "a link to the name of the store's -wal",
    arrange: (folder) => {
      writeFileSync(folder.file("plants.db-wal"), "");
      symlinkSync("plants.db-wal", folder.file("link.db"));
    },
    target: "link.db",
    ...bothRefused(/a name that ends with -wal is/),
  },

  // What is there already.
  { name: "no file", target: "new.db", keep: true, ...written },
  {
    name: "an empty file",
    arrange: (folder) => writeFileSync(folder.file("new.db"), ""),
    target: "new.db",
    keep: true,
    ...written,
  },
  {
    name: "an existing file, without --force",
    arrange: (folder) => copyFileSync(folder.file("backup.db"), folder.file("old.db")),
    target: "old.db",
    keep: true,
    backup: refused(/exists already; name another file, or replace it with --force/),
    restore: refused(/exists; move it away, or replace the whole store with --force/),
  },
  {
    name: "an earlier backup",
    arrange: (folder) => copyFileSync(folder.file("backup.db"), folder.file("old.db")),
    target: "old.db",
    ...written,
  },
  {
    name: "a link to an earlier backup",
    arrange: (folder) => {
      copyFileSync(folder.file("backup.db"), folder.file("old.db"));
      symlinkSync("old.db", folder.file("link.db"));
    },
    target: "link.db",
    ...written,
  },
  {
    name: "another store, stopped",
    target: "other.db",
    backup: refused(/is a store and not a backup/),
    restore: { plants: 2 },
  },
  {
    name: "another store, killed",
    arrange: (folder) => leaveLog(folder.file("other.db")),
    target: "other.db",
    backup: refused(/other\.db-wal exists/),
    restore: { plants: 2 },
  },
  {
    name: "another store, whose disk has failed",
    arrange: (folder) => writeFileSync(folder.file("other.db-disk-failed"), "disk I/O error\n"),
    target: "other.db",
    backup: refused(/other\.db-disk-failed exists/),
    restore: { plants: 2 },
  },
  {
    name: "the log of a store that was moved away",
    arrange: (folder) => {
      leaveLog(folder.file("other.db"));
      renameSync(folder.file("other.db"), folder.file("elsewhere.db"));
    },
    target: "other.db",
    backup: refused(/other\.db-wal exists/),
    restore: { plants: 2 },
  },
  {
    name: "the same, without --force",
    arrange: (folder) => {
      leaveLog(folder.file("other.db"));
      renameSync(folder.file("other.db"), folder.file("elsewhere.db"));
    },
    target: "other.db",
    keep: true,
    ...bothRefused(/other\.db-wal exists/),
  },
  {
    name: "a file of another kind",
    arrange: (folder) => writeFileSync(folder.file("notes.txt"), "water them ".repeat(1_000)),
    target: "notes.txt",
    backup: refused(/notes\.txt .*move it away/),
    restore: refused(/notes\.txt cannot be replaced .*move it away/),
  },
  {
    name: "another program's database",
    arrange: (folder) => {
      using songs = new Database(folder.file("songs.db"));
      songs.run("CREATE TABLE songs (title TEXT)");
    },
    target: "songs.db",
    ...bothRefused(/songs\.db is an SQLite database, but not a plant store/),
  },
  {
    name: "a folder",
    arrange: (folder) => mkdirSync(folder.file("new.db")),
    target: "new.db",
    ...bothRefused(/new\.db is a folder/),
  },
  {
    name: "a FIFO",
    arrange: (folder) => spawnSync(programPath("mkfifo"), [folder.file("new.db")]),
    target: "new.db",
    ...bothRefused(/new\.db is not a regular file/),
  },
  {
    name: "a dangling link",
    arrange: (folder) => symlinkSync("nowhere.db", folder.file("link.db")),
    target: "link.db",
    ...bothRefused(/link\.db is a link to .*nowhere\.db, which does not exist/),
  },
  { name: "a missing folder", target: "none/new.db", ...bothRefused(/the folder .*none does not exist/) },

  // Names that earlier versions gave to unfinished copies.
  {
    name: "a link FILE.partial to the store",
    arrange: (folder) => {
      symlinkSync("plants.db", folder.file("new.db.partial"));
      symlinkSync("plants.db", folder.file("new.db.restoring"));
    },
    target: "new.db",
    ...written,
  },

  // Outputs and permissions.
  { name: "closed outputs", target: "new.db", redirected: "<&- >&- 2>&-", ...written },
  { name: "outputs that take nothing", target: "new.db", redirected: ">/dev/full 2>/dev/full", ...written },
  {
    name: "private sources",
    arrange: (folder) => setModes(folder, 0o600),
    target: "new.db",
    umask: "000",
    mode: "600",
    ...written,
  },
  { name: "a umask of 077", target: "new.db", umask: "077", mode: "600", ...written },
  { name: "a umask of 022", target: "new.db", mode: "644", ...written },
  {
    name: "an earlier file that is private",
    arrange: (folder) => {
      copyFileSync(folder.file("backup.db"), folder.file("old.db"));
      chmodSync(folder.file("old.db"), 0o600);
    },
    target: "old.db",
    mode: "600",
    ...written,
  },
  {
    name: "an earlier file that a group may write",
    arrange: (folder) => {
      copyFileSync(folder.file("backup.db"), folder.file("old.db"));
      chmodSync(folder.file("old.db"), 0o660);
      setModes(folder, 0o660);
    },
    target: "old.db",
    mode: "660",
    ...written,
  },
];

const template = new TemporaryFolder();
const names = ["plants.db", "other.db", "backup.db"];

beforeAll(async () => {
  const make = async (name: string, count: number) => {
    const lines = Array.from({ length: count }, (_, id) => `${plantJson(BigInt(id), `plant ${id}`)}\n`);
    const database = `sqlite:${template.file(name)}`;
    await createStore(database);
    const imported = await run(["import", "-", "--quiet", "--database", database], {}, lines.join(""));
    expect(imported).toMatchObject({ exitCode: 0 });
    return database;
  };
  await make("plants.db", 3);
  await make("other.db", 1);
  const database = await make("two.db", 2);
  expect(await run(["backup", template.file("backup.db"), "--quiet", "--database", database])).toEqual({
    exitCode: 0,
    stdout: "",
    stderr: "",
  });
});
afterAll(() => template[Symbol.dispose]());

/** A folder with the files of every case. */
function newFolder(): TemporaryFolder {
  const folder = new TemporaryFolder();
  for (const name of names) {
    copyFileSync(template.file(name), folder.file(name));
    chmodSync(folder.file(name), 0o644);
  }
  return folder;
}

function setModes(folder: TemporaryFolder, mode: number): void {
  for (const name of names) chmodSync(folder.file(name), mode);
}

/** Leaves a write-ahead log with a plant beside a store, as kill -9 does. */
function leaveLog(path: string): void {
  const script = `
    const { Database } = require("bun:sqlite");
    const database = new Database(process.argv[1]);
    database.run("PRAGMA journal_mode = WAL");
    database.run("INSERT INTO plants (id, name) VALUES (1000, 'in the log')");
    process.kill(process.pid, "SIGKILL");`;
  spawnSync(process.execPath, ["-e", script, path]);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
}

function argumentsOf(
  command: CommandName,
  folder: TemporaryFolder,
  { target, source, keep }: Case,
): string[] {
  const [file, store] =
    command === "backup"
      ? [folder.file(target), folder.file("plants.db")]
      : [folder.file(source ?? "backup.db"), folder.file(target)];
  return [command, file, ...(keep === true ? [] : ["--force"]), "--database", `sqlite:${store}`];
}

/** Runs a command in a shell, with a umask and redirected outputs. */
async function runInShell(args: readonly string[], umask = "022", redirected = ""): Promise<CommandResult> {
  const child = Bun.spawn(["sh", "-c", `umask ${umask}; exec "$0" "$@" ${redirected}`, plantstore, ...args], {
    env: { PATH: process.env.PATH ?? "" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return collectResult(child);
}

/** The names of all that is below a folder; links are not followed. */
function entriesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? [entry.name, ...entriesOf(`${folder}/${entry.name}`).map((name) => `${entry.name}/${name}`)]
      : [entry.name],
  );
}

/** Every entry below a folder: its kind, its mode, and its bytes or where it leads. */
function snapshot(folder: string): Record<string, string> {
  return Object.fromEntries(
    entriesOf(folder)
      .toSorted()
      .map((name) => {
        const path = `${folder}/${name}`;
        const stat = lstatSync(path);
        const bytes = stat.isFile() ? Bun.hash(readFileSync(path)) : "";
        const link = stat.isSymbolicLink() ? readlinkSync(path) : "";
        return [name, `${stat.mode.toString(8)} ${bytes}${link}`];
      }),
  );
}

/** How many plants are in a single whole file. It is opened as it is, without a log or anything else beside it. */
function plantsIn(file: string): number {
  const beside = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}-`));
  expect(beside).toEqual([]);
  using database = new Database(file, { readonly: true });
  expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
  return Number(database.query("SELECT count(*) FROM plants").values()[0]?.[0]);
}

/** What an unfinished copy is in. */
function unfinished(folder: string): string[] {
  return entriesOf(folder).filter((name) => /^plantstore-.*\.partial/.test(name));
}

for (const command of ["backup", "restore"] as const) {
  describe(command, () => {
    test.each(cases.map((each) => [each.name, each] as const))("%s", async (_, each) => {
      using folder = newFolder();
      each.arrange?.(folder);
      const before = snapshot(folder.path);
      const { exitCode, stderr } = await runInShell(
        argumentsOf(command, folder, each),
        each.umask,
        each.redirected,
      );
      const outcome = each[command];
      if ("refusal" in outcome) {
        expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(outcome.refusal) });
        expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
        expect(snapshot(folder.path)).toEqual(before);
        return;
      }
      expect({ exitCode, stderr: stderr.replace(/^.*(?:verified|of the backup)\.\n$/, "") }).toEqual({
        exitCode: 0,
        stderr: "",
      });
      const file = folder.file(each.target);
      expect(plantsIn(file)).toBe(outcome.plants);
      expect(unfinished(folder.path)).toEqual([]);
      expect(lstatSync(file).isSymbolicLink()).toBe(before[each.target]?.startsWith("12") ?? false);
      if (each.mode !== undefined) expect((statSync(file).mode & 0o777).toString(8)).toBe(each.mode);
      // Nothing but the target has changed.
      const after = snapshot(folder.path);
      for (const name of names.filter((name) => name !== each.target)) expect(after[name]).toBe(before[name]);
    });

    test("a file that a server under load has open, which loses nothing", async () => {
      using folder = newFolder();
      const database = `sqlite:${folder.file("plants.db")}`;
      await using server = await RunningServer.start({ database });
      const load = new Load();
      const token = await server.createToken();
      const running = load.untilStopped([{ url: server.url, token }], 8);
      await load.acknowledgedMore(200);
      symlinkSync("plants.db", folder.file("link.db"));
      linkSync(folder.file("plants.db"), folder.file("hard.db"));
      for (const name of ["plants.db", "link.db", "hard.db", "plants.db-wal"]) {
        for (const store of ["plants.db", "other.db"]) {
          const args =
            command === "backup"
              ? [folder.file(name), "--database", `sqlite:${folder.file(store)}`]
              : [folder.file(store), "--database", `sqlite:${folder.file(name)}`];
          const { exitCode, stderr } = await run([command, ...args, "--force"]);
          expect({ name, store, exitCode, stderr }).toEqual({
            name,
            store,
            exitCode: 1,
            stderr: expect.stringMatching(/^plantstore: [^\n]+\n$/),
          });
        }
        await load.acknowledgedMore(100);
      }
      load.stop();
      await running;
      expect([...load.statuses.keys()]).toEqual([200]);
      await server.stop("SIGKILL");
      const { stdout } = await run(["export", "--database", database]);
      const others = new Set(
        ["plant 0", "plant 1", "plant 2"].map((name, id) => plantJson(BigInt(id), name)),
      );
      expect(
        load.audit(
          stdout
            .split("\n")
            .filter((line) => !others.has(line))
            .join("\n"),
        ),
      ).toEqual([]);
    });

    test("two at once to one file: each ends well or is refused, and the file is whole", async () => {
      using folder = newFolder();
      for (const force of [[], ["--force"]]) {
        for (let round = 0; round < 4; round++) {
          const file = folder.file(`new-${force.length}-${round}.db`);
          const args =
            command === "backup"
              ? ["backup", file, "--database", `sqlite:${folder.file("plants.db")}`]
              : ["restore", folder.file("backup.db"), "--database", `sqlite:${file}`];
          const ends = await Promise.all([1, 2, 3].map(() => run([...args, ...force])));
          const failures = ends.filter(({ exitCode }) => exitCode !== 0);
          // With --force one that waits for another's lock for too long may be refused as well.
          if (force.length > 0) expect(failures.length).toBeLessThan(3);
          else expect(failures.length).toBe(2);
          for (const { stderr } of failures)
            expect(stderr).toMatch(
              /^plantstore: [^\n]*(?:exists already|exists; move it away|is open)[^\n]*\n$/,
            );
          expect(plantsIn(file)).toBe(command === "backup" ? 3 : 2);
        }
      }
      expect(unfinished(folder.path)).toEqual([]);
    });

    test("two at once to two files", async () => {
      using folder = newFolder();
      const files = ["one.db", "two.db", "three.db"].map((name) => folder.file(name));
      const ends = await Promise.all(
        files.map((file) =>
          run(
            command === "backup"
              ? ["backup", file, "--quiet", "--database", `sqlite:${folder.file("plants.db")}`]
              : ["restore", folder.file("backup.db"), "--quiet", "--database", `sqlite:${file}`],
          ),
        ),
      );
      for (const end of ends) expect(end).toEqual({ exitCode: 0, stdout: "", stderr: "" });
      for (const file of files) expect(plantsIn(file)).toBe(command === "backup" ? 3 : 2);
      expect(unfinished(folder.path)).toEqual([]);
    });
  });
}

describe("what restore reads", () => {
  const sources: readonly [string, (folder: TemporaryFolder) => unknown, RegExp][] = [
    ["none", () => undefined, /there is no backup/],
    ["a folder", (folder) => mkdirSync(folder.file("from.db")), /from\.db is a folder/],
    [
      "a FIFO",
      (folder) => spawnSync(programPath("mkfifo"), [folder.file("from.db")]),
      /from\.db is not a regular file/,
    ],
    [
      "a store whose disk has failed",
      (folder) => {
        copyFileSync(folder.file("other.db"), folder.file("from.db"));
        writeFileSync(folder.file("from.db-disk-failed"), "disk I/O error\n");
      },
      /is a store and not a backup, as .*from\.db-disk-failed belongs to it/,
    ],
  ];
  test.each(sources)("%s", async (_, arrange, refusal) => {
    using folder = newFolder();
    arrange(folder);
    const before = snapshot(folder.path);
    const database = `sqlite:${folder.file("plants.db")}`;
    const { exitCode, stderr } = await run([
      "restore",
      folder.file("from.db"),
      "--force",
      "--database",
      database,
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(refusal) });
    expect(snapshot(folder.path)).toEqual(before);
  });

  test("a hard link to a store that a server has open, whose log has another name", async () => {
    using folder = newFolder();
    await using _ = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
    linkSync(folder.file("plants.db"), folder.file("hard.db"));
    const args = ["restore", folder.file("hard.db"), "--database", `sqlite:${folder.file("new.db")}`];
    expect(await run(args)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/hard\.db is open/) });
    expect(existsSync(folder.file("new.db"))).toBe(false);
  });

  test("a store that was stopped, and is left as it is", async () => {
    using folder = newFolder();
    const before = snapshot(folder.path);
    const args = [
      "restore",
      folder.file("plants.db"),
      "--quiet",
      "--database",
      `sqlite:${folder.file("new.db")}`,
    ];
    expect(await run(args)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(plantsIn(folder.file("new.db"))).toBe(3);
    expect(snapshot(folder.path)).toMatchObject(before);
  });
});

describe("what backup reads", () => {
  const stores: readonly [string, (folder: TemporaryFolder) => unknown, RegExp][] = [
    ["none", () => undefined, /there is no store at .*from\.db; name the store with --database/],
    ["a folder", (folder) => mkdirSync(folder.file("from.db")), /from\.db is a folder/],
    [
      "a FIFO",
      (folder) => spawnSync(programPath("mkfifo"), [folder.file("from.db")]),
      /from\.db is not a regular file/,
    ],
    ["an empty file", (folder) => writeFileSync(folder.file("from.db"), ""), /from\.db is not a plant store/],
    ["text", (folder) => writeFileSync(folder.file("from.db"), "x".repeat(9_000)), /file is not a database/],
  ];
  test.each(stores)("%s", async (_, arrange, refusal) => {
    using folder = newFolder();
    arrange(folder);
    const before = snapshot(folder.path);
    const database = `sqlite:${folder.file("from.db")}`;
    const { exitCode, stderr } = await run(["backup", folder.file("new.db"), "--database", database]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(refusal) });
    expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
    expect(snapshot(folder.path)).toEqual(before);
  });
});

const rootSuite = process.getuid?.() === 0 ? describe : describe.skip;

rootSuite(process.getuid?.() === 0 ? "owners" : "owners (skipped: only root gives files away)", () => {
  /** Some user and group without an entry. */
  const other = 61_234;
  const statOf = (path: string) => {
    const { uid, gid, mode } = statSync(path);
    return { uid, gid, mode: (mode & 0o777).toString(8) };
  };
  const argumentsFor = (command: CommandName, folder: TemporaryFolder, name: string) =>
    command === "backup"
      ? [command, folder.file(name), "--force", "--database", `sqlite:${folder.file("plants.db")}`]
      : [command, folder.file("backup.db"), "--force", "--database", `sqlite:${folder.file(name)}`];

  for (const command of ["backup", "restore"] as const) {
    test(`${command}: what the group of the source may do, another group may not`, async () => {
      using folder = newFolder();
      for (const name of names) chownSync(folder.file(name), 0, other);
      setModes(folder, 0o640);
      expect(await run(argumentsFor(command, folder, "new.db"))).toMatchObject({ exitCode: 0 });
      expect(statOf(folder.file("new.db"))).toEqual({ uid: 0, gid: 0, mode: "600" });
    });

    test(`${command}: a file that is replaced has the owner that it had`, async () => {
      using folder = newFolder();
      copyFileSync(folder.file("backup.db"), folder.file("old.db"));
      chmodSync(folder.file("old.db"), 0o640);
      chownSync(folder.file("old.db"), other, other);
      expect(await run(argumentsFor(command, folder, "old.db"))).toMatchObject({ exitCode: 0 });
      expect(statOf(folder.file("old.db"))).toEqual({ uid: other, gid: other, mode: "640" });
    });
  }
});

const mountSuite = mayMount() ? describe : describe.skip;

mountSuite(mayMount() ? "a file system" : "a file system (skipped: only root may mount one)", () => {
  test.each(["backup", "restore"] as const)(
    "that is read-only takes no %s, and stays as it is",
    async (command) => {
      using folder = newFolder();
      using disk = mounted(folder.file("disk"));
      copyFileSync(folder.file("other.db"), folder.file("disk/other.db"));
      disk?.makeReadOnly();
      const file = folder.file("disk/new.db");
      const args =
        command === "backup"
          ? [file, "--database", `sqlite:${folder.file("plants.db")}`]
          : [folder.file("backup.db"), "--database", `sqlite:${file}`];
      expect(await run([command, ...args])).toEqual({
        exitCode: 1,
        stdout: "",
        stderr: expect.stringMatching(/^plantstore: [^\n]*EROFS[^\n]*\n$/),
      });
      expect(readdirSync(folder.file("disk"))).toEqual(["other.db"]);
    },
  );

  test.each([
    ["stopped", false],
    ["killed", true],
  ])("that is read-only gives a backup of a store that was %s", async (_, isKilled) => {
    using folder = newFolder();
    using disk = mounted(folder.file("disk"));
    copyFileSync(folder.file("plants.db"), folder.file("disk/plants.db"));
    if (isKilled) leaveLog(folder.file("disk/plants.db"));
    disk?.makeReadOnly();
    const before = snapshot(folder.file("disk"));
    const database = `sqlite:${folder.file("disk/plants.db")}`;
    expect(await run(["backup", folder.file("new.db"), "--quiet", "--database", database])).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "",
    });
    expect(plantsIn(folder.file("new.db"))).toBe(isKilled ? 4 : 3);
    expect(snapshot(folder.file("disk"))).toEqual(before);
  });

  test.each(["backup", "restore"] as const)(
    "that is full takes no %s, and what was there stays",
    async (command) => {
      using folder = newFolder();
      using _ = mounted(folder.file("disk"));
      const large = folder.file("large.db");
      copyFileSync(folder.file("plants.db"), large);
      {
        using database = new Database(large);
        const row = database.prepare("INSERT INTO plants (id, name) VALUES (?, ?)");
        database.transaction(() => {
          for (let id = 1_000; id < 5_000; id++) row.run(id, "x".repeat(1_000));
        })();
      }
      const old = command === "backup" ? "backup.db" : "other.db";
      copyFileSync(folder.file(old), folder.file("disk/old.db"));
      const before = snapshot(folder.file("disk"));
      for (const name of ["old.db", "new.db"]) {
        const file = folder.file(`disk/${name}`);
        const args =
          command === "backup"
            ? [file, "--database", `sqlite:${large}`]
            : [large, "--database", `sqlite:${file}`];
        expect(await run([command, ...args, "--force"])).toEqual({
          exitCode: 1,
          stdout: "",
          stderr: expect.stringMatching(/^plantstore: [^\n]*(?:full|ENOSPC)[^\n]*\n$/),
        });
        expect(snapshot(folder.file("disk"))).toEqual(before);
      }
    },
  );
});

describeIfStrace("under strace", () => {
  /** Runs a command under strace. */
  async function traced(options: readonly string[], args: readonly string[]): Promise<CommandResult> {
    const child = Bun.spawn([programPath("strace"), "-f", "-qq", ...options, plantstore, ...args], {
      env: { PATH: process.env.PATH ?? "" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    return collectResult(child);
  }

  test.each(["backup", "restore"] as const)(
    "%s: what is private is so from its first byte",
    async (command) => {
      using folder = newFolder();
      setModes(folder, 0o600);
      const trace = folder.file("trace");
      const place = folder.file("place");
      mkdirSync(place);
      const args =
        command === "backup"
          ? [`${place}/new.db`, "--database", `sqlite:${folder.file("plants.db")}`]
          : [folder.file("backup.db"), "--database", `sqlite:${place}/new.db`];
      const options = ["-o", trace, "-e", "trace=open,openat,creat,mkdir,mkdirat,chmod,fchmod,fchmodat"];
      expect(await traced(options, [command, ...args, "--quiet"])).toMatchObject({ exitCode: 0 });
      const made = readFileSync(trace, "utf8")
        .split("\n")
        .filter(
          (line) => line.includes(`"${place}/`) && /O_CREAT|mkdir|chmod/.test(line) && !/= -1/.test(line),
        );
      const modes = made.map((line) => [line, /, (0[0-7]+)\) *=/.exec(line)?.[1]] as const);
      expect(modes.length).toBeGreaterThan(1);
      const open = modes.filter(([line, mode]) => {
        // In a folder that no other user may enter a file is private, whatever its mode.
        const isBelowPrivateFolder =
          /"[^"]*\.partial\/[^"]+"/.test(line) &&
          modes.some(([other, otherMode]) => other.includes("mkdir") && otherMode === "0700");
        return !isBelowPrivateFolder && (mode === undefined || (Number.parseInt(mode, 8) & 0o77) !== 0);
      });
      expect(open).toEqual([]);
    },
  );

  /** Each call of one is where the command is killed; the numbers are those of the calls in a run that goes well. */
  const moments = {
    backup: [
      "mkdir:1",
      "fsync:1",
      "fsync:2",
      "fsync:3",
      "fsync:4",
      "fsync:5",
      "rename:1",
      "fsync:6",
      "unlink:4",
      "rmdir:1",
    ],
    restore: ["mkdir:1", "fsync:1", "rename:1", "fsync:2", "unlink:1", "rmdir:1"],
  };
  for (const command of ["backup", "restore"] as const) {
    test.each(moments[command])(
      `${command} that is killed at %s leaves what was there or all of the new, and the next one removes the rest`,
      async (moment) => {
        const [call, when] = moment.split(":");
        const kill = ["-o", "/dev/null", "-e", `inject=${call}:signal=SIGKILL:when=${when}`];
        const plants = command === "backup" ? 3 : 2;
        for (const isThere of [false, true]) {
          using folder = newFolder();
          const place = folder.file("place");
          mkdirSync(place);
          const file = `${place}/file.db`;
          if (isThere) copyFileSync(folder.file("backup.db"), file);
          const args =
            command === "backup"
              ? ["backup", file, "--database", `sqlite:${folder.file("plants.db")}`]
              : ["restore", folder.file("backup.db"), "--database", `sqlite:${file}`];
          const force = isThere ? ["--force"] : [];
          expect((await traced(kill, [...args, ...force])).exitCode).toBe(128 + 9);
          const left = existsSync(file) ? statSync(file).size : 0;
          if (isThere) expect(left).toBeGreaterThan(0);
          if (left > 0) expect([plants, ...(isThere ? [2] : [])]).toContain(plantsIn(file));
          expect(await run([...args, ...(left > 0 ? ["--force"] : [])])).toMatchObject({ exitCode: 0 });
          expect(plantsIn(file)).toBe(plants);
          expect(readdirSync(place)).toEqual(["file.db"]);
        }
      },
    );
  }

  test("restore over a store with a log, killed at any moment, leaves the old plants or the new ones", async () => {
    for (const moment of ["fsync:2", "fsync:3", "fsync:4", "unlink:1", "unlink:2", "rename:1"]) {
      using folder = newFolder();
      leaveLog(folder.file("other.db"));
      const [call, when] = moment.split(":");
      const kill = ["-o", "/dev/null", "-e", `inject=${call}:signal=SIGKILL:when=${when}`];
      const database = `sqlite:${folder.file("other.db")}`;
      await traced(kill, ["restore", folder.file("backup.db"), "--force", "--database", database]);
      const { stdout, exitCode } = await run(["export", "--database", database]);
      const old = `${plantJson(0n, "plant 0")}\n${plantJson(1000n, "in the log")}\n`;
      const restored = `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n`;
      expect(exitCode).toBe(0);
      expect([old, restored]).toContain(stdout);
    }
  });

  test("a process that creates a store while a backup is restored at its path opens the restored one", async () => {
    using folder = newFolder();
    const file = folder.file("new.db");
    // Stopped as soon as it has created the file.
    const stopping = injecting("open,openat:signal=SIGSTOP:when=1");
    const serve = ["serve", "--port", "0", "--admin-port", "off", "--database", `sqlite:${file}`];
    const child = Bun.spawn([...stopping, "-P", file, plantstore, ...serve], {
      env: { PATH: process.env.PATH ?? "" },
      stdout: "pipe",
      stderr: "ignore",
    });
    while (!existsSync(file)) await Bun.sleep(5);
    expect(
      await run(["restore", folder.file("backup.db"), "--quiet", "--database", `sqlite:${file}`]),
    ).toMatchObject({
      exitCode: 0,
    });
    child.kill("SIGCONT");
    const stdout = new Output(child.stdout);
    const url = await stdout.until((text) => /^(http\S+)\n/.exec(text)?.[1]);
    const issued = await run(["token", "create", "--name", "ci", "--database", `sqlite:${file}`]);
    const created = await post({ url, token: issued.stdout.trim() }, plantJson(7n, "created"));
    expect(created.status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect((await run(["export", "--database", `sqlite:${file}`])).stdout).toBe(
      `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n${plantJson(7n, "created")}\n`,
    );
  });

  test("a backup that is still being written is not restored", async () => {
    using folder = newFolder();
    const [backup, trace] = [folder.file("backup.db"), folder.file("trace")];
    const args = ["restore", backup, "--database", `sqlite:${folder.file("new.db")}`];
    // Stopped once the copy has begun, or its reflink was refused.
    const copying = "inject=ioctl,copy_file_range,sendfile:signal=SIGSTOP:when=1";
    const child = Bun.spawn(
      [
        programPath("strace"),
        "-D",
        "-f",
        "-qq",
        "-o",
        trace,
        "-P",
        backup,
        "-e",
        copying,
        plantstore,
        ...args,
      ],
      { env: { PATH: process.env.PATH ?? "" }, stderr: "pipe" },
    );
    while (!(existsSync(trace) && readFileSync(trace, "utf8").includes("stopped by SIGSTOP")))
      await Bun.sleep(5);
    appendFileSync(backup, "more");
    child.kill("SIGCONT");
    expect(await child.stderr.text()).toContain("backup.db was changed while it was copied; try again");
    expect(await child.exited).toBe(1);
    expect(existsSync(folder.file("new.db"))).toBe(false);
  });

  test("what a running backup has made is not removed by another one", async () => {
    using folder = newFolder();
    const args = (name: string) => [
      "backup",
      folder.file(name),
      "--database",
      `sqlite:${folder.file("plants.db")}`,
    ];
    const child = Bun.spawn([...injecting("chmod:signal=SIGSTOP:when=1"), plantstore, ...args("slow.db")], {
      env: { PATH: process.env.PATH ?? "" },
      stderr: "ignore",
    });
    const made = () => unfinished(folder.path).some((name) => name.endsWith("/copy"));
    while (!made()) await Bun.sleep(5);
    expect(await run(args("quick.db"))).toMatchObject({ exitCode: 0 });
    expect(made()).toBe(true);
    child.kill("SIGCONT");
    expect(await child.exited).toBe(0);
    expect(plantsIn(folder.file("slow.db"))).toBe(3);
    expect(unfinished(folder.path)).toEqual([]);
  });
});
