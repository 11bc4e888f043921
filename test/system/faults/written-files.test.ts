// The files that commands write: each command in each state of its files, with the outcome.
// `backup` and `restore` have tests of their own.

import { Database } from "bun:sqlite";
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  createWriteStream,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { newPlantJson } from "../../../src/core/contract/plant.ts";
import { writeFailureMarker } from "../../../src/core/store/sqlite/errors.ts";
import { statesOf } from "../../support/commands.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson } from "../../support/http.ts";
import { programPath } from "../../support/programs.ts";
import {
  type CommandResult,
  collectResult,
  plantstore,
  RunningServer,
  TemporaryFolder,
} from "../../support/server.ts";
import { mounted, notMounted } from "./mounts.ts";
import { makeReadOnly, whyNotReadOnly } from "./read-only.ts";

/** Some wait for a lock for 10 seconds. */
setDefaultTimeout(120_000);

const one = plantJson(1n, "Monstera");

/**
 * Each command runs in a copy of this folder: a store with a plant and the token ci, and files to
 * import.
 */
const template = new TemporaryFolder();
afterAll(() => template[Symbol.dispose]());
const prepared = prepare();

async function prepare(): Promise<void> {
  writeFileSync(template.file("plants.ndjson"), `${one}\n`);
  writeFileSync(template.file("more.ndjson"), `${plantJson(2n, "Ficus")}\n`);
  writeFileSync(template.file("wrong.ndjson"), "nope\n");
  for (const line of ["migrate", "import plants.ndjson --quiet", "token create --name ci"]) {
    const { exitCode, stderr } = await inFolder(template.path, line);
    if (exitCode !== 0) throw new Error(stderr);
  }
}

/** Runs a command in a folder as a shell does, with redirections, and with a umask of 0. */
async function inFolder(folder: string, line: string): Promise<CommandResult> {
  const child = Bun.spawn(["sh", "-c", `umask 000; ${plantstore} ${line}`], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return collectResult(child);
}

interface Expected {
  readonly exitCode: number;
  /** Found in standard error. */
  readonly says?: string;
  /** Whether it waits for as long as the program waits for a lock. */
  readonly waits?: true;
}

interface Cell {
  readonly commands: readonly string[];
  /** The state of the files. */
  readonly when: string;
  readonly outcome: string;
  readonly expected: Expected;
  /**
   * Brings the files into that state; what it returns is disposed of when the command has ended.
   */
  readonly before?: (folder: string) => Disposable | undefined;
  /** Checks the files afterwards. */
  readonly after?: (folder: string) => void | Promise<void>;
  /** Why that state cannot be made on this machine. */
  readonly skipped?: string | undefined;
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** The plants of the store, one line each; read without the program, which a test may be about. */
function plantsIn(folder: string): string {
  using database = new Database(`${folder}/plantstore.db`, { safeIntegers: true });
  const rows = database
    .query<{ id: bigint; name: string; tag: string | null }, []>("SELECT * FROM plants ORDER BY id")
    .all();
  return rows
    .map(({ id, name, tag }) => `${newPlantJson({ id, name, ...(tag === null ? {} : { tag }) })}\n`)
    .join("");
}

/** The line numbers in a report; throws if it is not a report. */
function reportedLines(path: string): number[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).line);
}

function assertWholeStore(folder: string): void {
  {
    using database = new Database(`${folder}/plantstore.db`, { readonly: true });
    expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
  }
  expect(plantsIn(folder)).toStartWith(`${one}\n`);
}

/** Starts to write to the store, in this process, and commits when it is disposed of. */
function lockStore(folder: string): Disposable {
  const database = new Database(`${folder}/plantstore.db`);
  database.run("BEGIN IMMEDIATE");
  return {
    [Symbol.dispose]() {
      database.run("COMMIT");
      database.close();
    },
  };
}

/**
 * Moves the store to a small file system, keeps it open there so that its WAL exists, and fills
 * that file system up.
 */
function fillDisk(folder: string): Disposable {
  const [path, disk] = [`${folder}/plantstore.db`, `${folder}/disk`];
  const stack = new DisposableStack();
  stack.use(mounted(disk));
  moveFile(path, `${disk}/plantstore.db`);
  symlinkSync("disk/plantstore.db", path);
  stack.defer(() => {
    rmSync(path);
    moveFile(`${disk}/plantstore.db`, path);
  });
  const database = stack.use(new Database(`${disk}/plantstore.db`));
  database.query("SELECT count(*) FROM plants").get();
  stack.defer(() => rmSync(`${disk}/ballast`));
  try {
    writeFileSync(`${disk}/ballast`, Buffer.alloc(4 * 2 ** 20));
  } catch {
    // As much of it as fits is written.
  }
  return stack;
}

/** Unlike renameSync, also to another file system. */
function moveFile(from: string, to: string): void {
  cpSync(from, to);
  rmSync(from);
}

const notReadOnly = whyNotReadOnly();

const serve = "serve --port 0 --admin-port off --log-level error";
const readers = ["get 1", "export", "stats", "token list", "index list"];
const changers = ["token create --name new", "token rotate ci", "token revoke ci", "index create search"];
const printers = [...readers, "check", "config"];

const cells: readonly Cell[] = [
  {
    commands: ["migrate"],
    when: "there is no store",
    outcome: "creates one, which only its owner may read, and prints its path",
    expected: { exitCode: 0, says: "Created an empty store: " },
    before: removeStore,
    after: (folder) => expect(modeOf(`${folder}/plantstore.db`)).toBe("600"),
  },
  {
    commands: [...readers, ...changers, "check", "import plants.ndjson", `${serve} --migrate off`],
    when: "there is no store",
    outcome: "exit code 1, and creates none: the error names the path",
    expected: { exitCode: 1, says: "there is no store at " },
    before: removeStore,
    after: (folder) =>
      expect(readdirSync(folder).toSorted()).toEqual(["more.ndjson", "plants.ndjson", "wrong.ndjson"]),
  },
  {
    commands: [...readers, ...changers, "check", "import more.ndjson", "migrate"],
    when: "the path of the store is a link to it",
    outcome: "uses the store, and keeps the link",
    expected: { exitCode: 0 },
    before: (folder) => {
      mkdirSync(`${folder}/elsewhere`);
      renameSync(`${folder}/plantstore.db`, `${folder}/elsewhere/plants.db`);
      symlinkSync("elsewhere/plants.db", `${folder}/plantstore.db`);
      return undefined;
    },
    after: (folder) => {
      expect(lstatSync(`${folder}/plantstore.db`).isSymbolicLink()).toBe(true);
      expect(existsSync(`${folder}/plantstore.db-wal`)).toBe(false);
    },
  },
  {
    commands: [...changers, "import more.ndjson", "migrate", serve],
    when: "the store cannot be written",
    outcome: "exit code 1, and nothing is changed",
    expected: { exitCode: 1, says: "it cannot be written (E" },
    before: makeStoreReadOnly,
    skipped: notReadOnly,
    after: (folder) => expect(plantsIn(folder)).toBe(`${one}\n`),
  },
  {
    commands: readers,
    when: "the store cannot be written",
    outcome: "succeeds",
    expected: { exitCode: 0 },
    before: makeStoreReadOnly,
    skipped: notReadOnly,
  },
  {
    commands: [...changers, "check"],
    when: "another process holds the lock of the store",
    outcome: "exit code 1 after at most 10 seconds, and nothing is changed",
    expected: { exitCode: 1, says: "database is locked", waits: true },
    before: lockStore,
  },
  {
    commands: [...readers, "migrate"],
    when: "another process holds the lock of the store",
    outcome: "succeeds",
    expected: { exitCode: 0 },
    before: lockStore,
  },
  {
    commands: [...changers, "check"],
    when: "the disk of the store is full",
    outcome: "exit code 1, and nothing is changed",
    expected: { exitCode: 1, says: "full" },
    before: fillDisk,
    skipped: notMounted,
    after: async (folder) => {
      const database = `sqlite:${folder}/plantstore.db`;
      expect(await statesOf(database, "ci")).toEqual(["active"]);
      expect(await statesOf(database, "new")).toEqual([]);
    },
  },
  {
    commands: [...readers, "migrate"],
    when: "the disk of the store is full",
    outcome: "succeeds",
    expected: { exitCode: 0 },
    before: fillDisk,
    skipped: notMounted,
  },
  {
    commands: [...printers.map((line) => `${line} >/dev/full`), ...printers.map((line) => `${line} >&-`)],
    when: "standard output is full or closed",
    outcome: "exit code 1",
    expected: { exitCode: 1, says: "could not be written (E" },
  },
  {
    commands: ["token create --name new", "token rotate ci"].flatMap((line) => [
      `${line} >/dev/full`,
      `${line} >&-`,
    ]),
    when: "standard output is full or closed",
    outcome: "exit code 1, and the token, which was not printed, is revoked",
    expected: { exitCode: 1, says: "the token could not be printed (E" },
    after: async (folder) => {
      const database = `sqlite:${folder}/plantstore.db`;
      expect((await statesOf(database, "ci"))[0]).toBe("active");
      expect([...(await statesOf(database, "ci")), ...(await statesOf(database, "new"))]).toContain(
        "revoked",
      );
    },
  },
  {
    commands: [`${serve} >/dev/full`, `${serve} >&-`],
    when: "standard output is full or closed, on a new store",
    outcome: "exit code 1, and the next start prints another first token",
    expected: { exitCode: 1, says: "the first token could not be printed (E" },
    before: removeStore,
    after: async (folder) => {
      const next = await RunningServer.start({ database: `sqlite:${folder}/plantstore.db` });
      expect((await next.stop()).stdout).toMatch(/pst_[A-Za-z0-9_-]{43}/);
    },
  },
  ...(
    [
      ["600", "600"],
      ["640", "640"],
      ["644", "644"],
      ["755", "644"],
      ["666", "666"],
    ] as const
  ).map(
    ([input, report]): Cell => ({
      commands: ["import wrong.ndjson"],
      when: `the input has the permissions ${input}`,
      outcome: `the report has ${report}`,
      expected: { exitCode: 3, says: "see wrong.ndjson.rejected.ndjson" },
      before: (folder) => chmod(`${folder}/wrong.ndjson`, input),
      after: (folder) => expect(modeOf(`${folder}/wrong.ndjson.rejected.ndjson`)).toBe(report),
    }),
  ),
  {
    commands: ["import - < wrong.ndjson"],
    when: "standard input is a file with the permissions 600",
    outcome: "the report has them too",
    expected: { exitCode: 3, says: "see stdin.rejected.ndjson" },
    before: (folder) => chmod(`${folder}/wrong.ndjson`, "600"),
    after: (folder) => expect(modeOf(`${folder}/stdin.rejected.ndjson`)).toBe("600"),
  },
  {
    commands: ["import /proc/self/fd/0 < wrong.ndjson"],
    when: "the report cannot be created beside the input",
    outcome: "exit code 1; valid plants are imported",
    expected: {
      exitCode: 1,
      says: "the rejected records cannot be written to /proc/self/fd/0.rejected.ndjson (E",
    },
    skipped: existsSync("/proc/self/fd/0") ? undefined : "needs Linux's /proc",
  },
  {
    commands: ["import wrong.ndjson"],
    when: "there is a report of an earlier import",
    outcome: "the report is replaced",
    expected: { exitCode: 3, says: "see wrong.ndjson.rejected.ndjson" },
    before: (folder) => write(`${folder}/wrong.ndjson.rejected.ndjson`, '{"line":7,"error":40001}\n'),
    after: (folder) => expect(reportedLines(`${folder}/wrong.ndjson.rejected.ndjson`)).toEqual([1]),
  },
  {
    commands: ["import more.ndjson"],
    when: "there is a report of an earlier import, and nothing is rejected now",
    outcome: "the report is removed",
    expected: { exitCode: 0 },
    before: (folder) => write(`${folder}/more.ndjson.rejected.ndjson`, '{"line":7,"error":40001}\n'),
    after: (folder) => expect(existsSync(`${folder}/more.ndjson.rejected.ndjson`)).toBe(false),
  },
  {
    commands: ["import wrong.ndjson", "import more.ndjson"],
    when: "another file or a folder has the name of the report",
    outcome: "exit code 1 before anything is imported, and it is not changed",
    expected: { exitCode: 1, says: "exists and is not the report of an import; move it away" },
    before: (folder) => {
      write(`${folder}/wrong.ndjson.rejected.ndjson`, "my notes\n");
      mkdirSync(`${folder}/more.ndjson.rejected.ndjson`);
      return undefined;
    },
    after: (folder) => {
      expect(readFileSync(`${folder}/wrong.ndjson.rejected.ndjson`, "utf8")).toBe("my notes\n");
      expect(statSync(`${folder}/more.ndjson.rejected.ndjson`).isDirectory()).toBe(true);
      expect(plantsIn(folder)).toBe(`${one}\n`);
    },
  },
  {
    commands: ["import wrong.ndjson"],
    when: "the name of the report is a link to the input",
    outcome: "exit code 1 before anything is imported, and it is not changed",
    expected: { exitCode: 1, says: "is not the report of an import" },
    before: (folder) => {
      symlinkSync("wrong.ndjson", `${folder}/wrong.ndjson.rejected.ndjson`);
      return undefined;
    },
    after: (folder) => expect(readFileSync(`${folder}/wrong.ndjson`, "utf8")).toBe("nope\n"),
  },
  {
    commands: ["import wrong.ndjson"],
    when: "the name of the report is a hard link to the store",
    outcome: "exit code 1 before anything is imported, and it is not changed",
    expected: { exitCode: 1, says: "has 2 hard links" },
    before: (folder) => {
      linkSync(`${folder}/plantstore.db`, `${folder}/wrong.ndjson.rejected.ndjson`);
      return undefined;
    },
    after: assertWholeStore,
  },
  {
    commands: ["import wrong.ndjson --database sqlite:wrong.ndjson.rejected.ndjson"],
    when: "the store itself has the name of the report",
    outcome: "exit code 1 before anything is imported, and it is not changed",
    expected: { exitCode: 1, says: "is not the report of an import" },
    before: (folder) => {
      renameSync(`${folder}/plantstore.db`, `${folder}/wrong.ndjson.rejected.ndjson`);
      return undefined;
    },
    after: (folder) => {
      renameSync(`${folder}/wrong.ndjson.rejected.ndjson`, `${folder}/plantstore.db`);
      assertWholeStore(folder);
    },
  },
  {
    commands: ["import - < wrong.ndjson"],
    when: "there is a report of an earlier import of standard input",
    outcome: "both are kept; the new one is stdin.rejected.2.ndjson, which is printed",
    expected: { exitCode: 3, says: "see stdin.rejected.2.ndjson" },
    before: (folder) => write(`${folder}/stdin.rejected.ndjson`, '{"line":7,"error":40001}\n'),
    after: (folder) => {
      expect(reportedLines(`${folder}/stdin.rejected.ndjson`)).toEqual([7]);
      expect(reportedLines(`${folder}/stdin.rejected.2.ndjson`)).toEqual([1]);
    },
  },
  {
    commands: ["import - --quiet < stdin.rejected.ndjson"],
    when: "standard input is the report of an earlier import of it",
    outcome: "both are kept; the name of the new one is printed even with --quiet",
    expected: { exitCode: 3, says: "The rejected records are in stdin.rejected.2.ndjson." },
    before: (folder) => write(`${folder}/stdin.rejected.ndjson`, '{"line":7,"error":40001}\n'),
    after: (folder) => expect(reportedLines(`${folder}/stdin.rejected.ndjson`)).toEqual([7]),
  },
  {
    commands: ["import wrong.ndjson.rejected.ndjson"],
    when: "the input is a report itself",
    outcome: "it is kept, and has a report of its own",
    expected: { exitCode: 3, says: "see wrong.ndjson.rejected.ndjson.rejected.ndjson" },
    before: (folder) => write(`${folder}/wrong.ndjson.rejected.ndjson`, '{"line":7,"error":40001}\n'),
    after: (folder) => expect(reportedLines(`${folder}/wrong.ndjson.rejected.ndjson`)).toEqual([7]),
  },
];

function makeStoreReadOnly(folder: string): Disposable | undefined {
  return makeReadOnly(`${folder}/plantstore.db`);
}

function removeStore(folder: string): undefined {
  rmSync(`${folder}/plantstore.db`);
}

function write(path: string, text: string): undefined {
  writeFileSync(path, text);
}

function chmod(path: string, mode: string): undefined {
  chmodSync(path, Number.parseInt(mode, 8));
}

for (const cell of cells) {
  const { when, outcome, expected, skipped } = cell;
  const name = skipped === undefined ? when : `${when} (skipped: ${skipped})`;
  // Waits for a lock overlap; other commands would only compete for the processors.
  const group = expected.waits ? describe.concurrent : describe.skipIf(skipped !== undefined);
  group(name, () => {
    test.each(cell.commands)(`%s: ${outcome}`, async (line) => {
      await prepared;
      using folder = new TemporaryFolder();
      cpSync(template.path, folder.path, { recursive: true });
      {
        using _ = cell.before?.(folder.path);
        const { exitCode, stderr } = await inFolder(folder.path, line);
        // With the error where it failed for another reason.
        expect({ exitCode, stderr: exitCode === expected.exitCode ? "" : stderr }).toEqual({
          exitCode: expected.exitCode,
          stderr: "",
        });
        if (expected.says !== undefined) {
          expect(stderr).toContain(expected.says);
          expect(stderr.trimEnd()).not.toContain("\n");
        }
      }
      await cell.after?.(folder.path);
      // No unfinished report is left.
      expect(readdirSync(folder.path).filter((file) => file.endsWith(".partial"))).toEqual([]);
    });
  });
}

/** Runs commands at the same time in one folder. */
async function atOnce(folder: string, lines: readonly string[]): Promise<CommandResult[]> {
  return Promise.all(lines.map((line) => inFolder(folder, line)));
}

const concurrent: readonly {
  readonly commands: readonly string[];
  readonly outcome: string;
  readonly check: (results: readonly CommandResult[], folder: string) => void;
  readonly before?: (folder: string) => void;
}[] = [
  {
    commands: Array(4).fill("import wrong.ndjson"),
    outcome: "each import has its own report, and prints its name",
    check: (results, folder) => expectReports(results, folder, "wrong.ndjson.rejected"),
  },
  {
    commands: Array(4).fill("import - < wrong.ndjson"),
    outcome: "each import has its own report, and prints its name",
    check: (results, folder) => expectReports(results, folder, "stdin.rejected"),
  },
  {
    commands: Array(4).fill("token create --name new"),
    outcome: "one creates the token, the others fail",
    check: (results) => expect(results.map(({ exitCode }) => exitCode).toSorted()).toEqual([0, 1, 1, 1]),
  },
  {
    commands: Array(4).fill("migrate"),
    outcome: "one store is created, and all succeed",
    before: removeStore,
    check: (results, folder) => {
      expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
      expect(modeOf(`${folder}/plantstore.db`)).toBe("600");
    },
  },
  {
    commands: Array(4).fill("index create search"),
    outcome: "one index is created, and all succeed",
    check: (results) => expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]),
  },
];

function expectReports(results: readonly CommandResult[], folder: string, stem: string): void {
  expect(results.map(({ exitCode }) => exitCode)).toEqual(results.map(() => 3));
  const named = results.map(({ stderr }) => /; see (\S+)\n$/.exec(stderr)?.[1] ?? "");
  for (const name of named) expect(name).toStartWith(stem);
  // An import of a file that starts when another has ended replaces its report; one of standard
  // input never does.
  const there = readdirSync(folder).filter((file) => file.startsWith(stem));
  for (const file of there) expect(reportedLines(`${folder}/${file}`)).toEqual([1]);
  if (stem.startsWith("stdin")) {
    expect(new Set(named).size).toBe(results.length);
    expect(there.toSorted()).toEqual(named.toSorted());
  }
  expect(readdirSync(folder).filter((file) => file.endsWith(".partial"))).toEqual([]);
}

for (const { commands, outcome, check, before } of concurrent) {
  test(`${commands.length} times at once, ${commands[0]}: ${outcome}`, async () => {
    await prepared;
    using folder = new TemporaryFolder();
    cpSync(template.path, folder.path, { recursive: true });
    before?.(folder.path);
    check(await atOnce(folder.path, commands), folder.path);
  });
}

test("an import that starts beside another of the same file leaves the other's report alone", async () => {
  await prepared;
  using folder = new TemporaryFolder();
  cpSync(template.path, folder.path, { recursive: true });
  // The first one waits in the middle of its file, with an unfinished report.
  rmSync(folder.file("wrong.ndjson"));
  spawnSync(programPath("mkfifo"), [folder.file("wrong.ndjson")]);
  const first = inFolder(folder.path, "import wrong.ndjson");
  const pipe = createWriteStream(folder.file("wrong.ndjson"));
  pipe.write("nope\n".repeat(30_000));
  await eventually(
    "an unfinished report",
    () => readdirSync(folder.path),
    (files) => files.some((file) => file.endsWith(".partial")),
  );
  // Renamed, so that the second one does not read the pipe.
  renameSync(folder.file("wrong.ndjson"), folder.file("pipe"));
  writeFileSync(folder.file("wrong.ndjson"), "nope\n");
  const second = await inFolder(folder.path, "import wrong.ndjson");
  expect(second.stderr).toEndWith("see wrong.ndjson.rejected.ndjson\n");
  pipe.end();
  expect((await first).stderr).toEndWith("see wrong.ndjson.rejected.2.ndjson\n");
  expect(reportedLines(folder.file("wrong.ndjson.rejected.ndjson"))).toEqual([1]);
  expect(reportedLines(folder.file("wrong.ndjson.rejected.2.ndjson"))).toHaveLength(30_000);
});

test("the files beside a store are as private as the store", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await RunningServer.start({ database: `sqlite:${path}` });
  await server.createToken();
  writeFailureMarker(path, "a disk failed");
  const suffixes = ["", "-wal", "-shm", "-disk-failed"];
  expect(suffixes.map((suffix) => modeOf(path + suffix))).toEqual(suffixes.map(() => "600"));
});
