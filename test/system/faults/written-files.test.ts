// The files that commands write: each command in each state of its files, with the outcome.
// `backup` and `restore` have tests of their own, and so have missing stores and standard streams.

import { Database } from "bun:sqlite";
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
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
import { plantJson } from "../../support/http.ts";
import { describeUnless, programPath } from "../../support/programs.ts";
import {
  type CommandResult,
  plantstore,
  runCommand,
  runIn,
  TemporaryFolder,
  withStore,
} from "../../support/server.ts";
import { exported, storePlants } from "../../support/stored-plants.ts";
import { statesOf } from "../../support/stored-tokens.ts";
import { mounted, notMounted } from "./mounts.ts";
import { makeReadOnly, whyNotReadOnly } from "./read-only.ts";

const one = plantJson(1n, "Monstera");

/**
 * Each command runs in a copy of this folder: a store with a plant and the token ci, and files to
 * import.
 */
const template = new TemporaryFolder();
const umask = process.umask(0);
afterAll(() => {
  template[Symbol.dispose]();
  process.umask(umask);
});

writeFileSync(template.file("more.ndjson"), `${plantJson(2n, "Ficus")}\n`);
writeFileSync(template.file("wrong.ndjson"), "nope\n");
await storePlants(storeIn(template.path), [{ id: 1n, name: "Monstera" }]);
await withStore(storeIn(template.path), "writable", ({ tokens }) =>
  tokens.add({ hash: "a", name: "ci", createdAt: 1, expiresAt: null }),
);

function newFolder(): TemporaryFolder {
  const folder = new TemporaryFolder();
  cpSync(template.path, folder.path, { recursive: true });
  return folder;
}

function storeIn(folder: string): string {
  return `sqlite:${folder}/plantstore.db`;
}

/** Runs a command in this process. Its error names files as they are called in the folder. */
async function inFolder(folder: string, line: string): Promise<CommandResult> {
  if (line.includes("<")) return inShell(folder, line);
  const args = line.split(" ").map((arg) => (arg.endsWith(".ndjson") ? `${folder}/${arg}` : arg));
  const { stderr, ...result } = await runCommand([...args, "--database", storeIn(folder)]);
  return { ...result, stderr: stderr.replaceAll(`${folder}/`, "") };
}

function inShell(folder: string, line: string): Promise<CommandResult> {
  return runIn(folder, ["sh", "-c", `${plantstore} ${line}`]);
}

interface Cell {
  readonly commands: readonly string[];
  /** The state of the files. */
  readonly when: string;
  readonly outcome: string;
  readonly exitCode: number;
  /** Found in standard error. */
  readonly says?: string;
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

/** The line numbers in a report; throws if it is not a report. */
function reportedLines(path: string): number[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).line);
}

async function assertUnchanged(folder: string): Promise<void> {
  expect(await exported(storeIn(folder))).toBe(`${one}\n`);
  expect(await statesOf(storeIn(folder), "ci")).toEqual(["active"]);
  expect(await statesOf(storeIn(folder), "new")).toEqual([]);
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

/** Moves the store to a small file system, and fills that up; an open store has its WAL there. */
function fillDisk(folder: string, isOpen: boolean): Disposable {
  const [path, disk] = [`${folder}/plantstore.db`, `${folder}/disk`];
  const stack = new DisposableStack();
  stack.use(mounted(disk));
  moveFile(path, `${disk}/plantstore.db`);
  symlinkSync("disk/plantstore.db", path);
  stack.defer(() => {
    rmSync(path);
    moveFile(`${disk}/plantstore.db`, path);
  });
  if (isOpen)
    stack
      .use(new Database(`${disk}/plantstore.db`))
      .query("SELECT count(*) FROM plants")
      .get();
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

const readers = ["get 1", "export", "token list"];
const changers = ["token create --name new", "token rotate ci", "token revoke ci"];
const earlierReport = '{"line":7,"error":40001}\n';

const cells: readonly Cell[] = [
  {
    commands: ["get 1", "token create --name new", "import more.ndjson", "migrate"],
    when: "the path of the store is a link to it",
    outcome: "uses the store, and keeps the link",
    exitCode: 0,
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
    commands: [...changers, "import more.ndjson", "migrate", "serve --port 0 --admin-port off"],
    when: "the store cannot be written",
    outcome: "exit code 1, and nothing is changed",
    exitCode: 1,
    says: "and that this user may write both",
    before: makeStoreReadOnly,
    skipped: notReadOnly,
    after: assertUnchanged,
  },
  {
    commands: readers,
    when: "the store cannot be written",
    outcome: "succeeds",
    exitCode: 0,
    before: makeStoreReadOnly,
    skipped: notReadOnly,
  },
  {
    commands: changers,
    when: "another process holds the lock of the store",
    outcome: "exit code 1 after at most 10 seconds, and nothing is changed",
    exitCode: 1,
    says: "database is locked",
    before: (folder) => {
      const stack = new DisposableStack();
      stack.use(lockStore(folder));
      let now = performance.now();
      stack.use(spyOn(performance, "now").mockImplementation(() => (now += 1_000)));
      return stack;
    },
    after: assertUnchanged,
  },
  {
    commands: [...readers, "migrate"],
    when: "another process holds the lock of the store",
    outcome: "succeeds",
    exitCode: 0,
    before: lockStore,
  },
  {
    commands: changers,
    when: "the disk of the store is full",
    outcome: "exit code 1, and nothing is changed",
    exitCode: 1,
    says: "full",
    before: (folder) => fillDisk(folder, true),
    skipped: notMounted,
    after: assertUnchanged,
  },
  {
    commands: [...readers, "migrate"],
    when: "the disk of the store is full",
    outcome: "succeeds",
    exitCode: 0,
    before: (folder) => fillDisk(folder, true),
    skipped: notMounted,
  },
  {
    commands: [
      ...readers,
      "token create --name new",
      "import more.ndjson",
      "serve --port 0 --admin-port off",
    ],
    when: "the disk of the store is full, and no process has the store open",
    outcome: "exit code 1, and nothing is changed",
    exitCode: 1,
    says: "cannot open the store plantstore.db: the disk of ",
    before: (folder) => fillDisk(folder, false),
    skipped: notMounted,
  },
  {
    commands: ["import wrong.ndjson", "import - < wrong.ndjson"],
    when: "everybody may read the input",
    outcome: "only the owner may read the report",
    exitCode: 3,
    says: ".rejected.ndjson",
    before: (folder) => chmod(`${folder}/wrong.ndjson`, "666"),
    after: (folder) => {
      const [report = ""] = readdirSync(folder).filter((name) => name.includes(".rejected."));
      expect(modeOf(`${folder}/${report}`)).toBe("600");
    },
  },
  {
    commands: ["import /dev/null", "import /dev/zero", "import ."],
    when: "the input is a device or a folder",
    outcome: "exit code 1",
    exitCode: 1,
    says: "is neither a file nor a pipe; give the path of one, or - for standard input",
  },
  {
    commands: ["import /proc/self/fd/0 < wrong.ndjson"],
    when: "the report cannot be created beside the input",
    outcome: "exit code 1; valid plants are imported",
    exitCode: 1,
    says: "the rejected records cannot be written to /proc/self/fd/0.rejected.ndjson (E",
    skipped: existsSync("/proc/self/fd/0") ? undefined : "needs Linux's /proc",
  },
  ...["an earlier report", "a link to the store"].map(
    (kind): Cell => ({
      commands: ["import wrong.ndjson"],
      when: `the name of the report is ${kind}`,
      outcome: "it is kept; the new one is wrong.ndjson.rejected.2.ndjson, which is printed",
      exitCode: 3,
      says: "see wrong.ndjson.rejected.2.ndjson",
      before: (folder) => {
        const path = `${folder}/wrong.ndjson.rejected.ndjson`;
        if (kind === "an earlier report") writeFileSync(path, earlierReport);
        else symlinkSync("plantstore.db", path);
        return undefined;
      },
      after: async (folder) => {
        expect(reportedLines(`${folder}/wrong.ndjson.rejected.2.ndjson`)).toEqual([1]);
        if (kind === "an earlier report")
          expect(reportedLines(`${folder}/wrong.ndjson.rejected.ndjson`)).toEqual([7]);
        await assertUnchanged(folder);
      },
    }),
  ),
];

function makeStoreReadOnly(folder: string): Disposable | undefined {
  return makeReadOnly(`${folder}/plantstore.db`);
}

function chmod(path: string, mode: string): undefined {
  chmodSync(path, Number.parseInt(mode, 8));
}

for (const { commands, when, outcome, exitCode, says, before, after, skipped } of cells) {
  const name = skipped === undefined ? when : `${when} (skipped: ${skipped})`;
  describe.skipIf(skipped !== undefined)(name, () => {
    test.each(commands)(`%s: ${outcome}`, async (line) => {
      using folder = newFolder();
      {
        using _ = before?.(folder.path);
        const result = await inFolder(folder.path, line);
        // With the error where it failed for another reason.
        expect({ ...result, stdout: "" }).toEqual({
          exitCode,
          stdout: "",
          stderr: expect.stringContaining(says ?? ""),
        });
        if (says !== undefined) expect(result.stderr.trimEnd()).not.toContain("\n");
      }
      await after?.(folder.path);
    });
  });
}

const notRoot = process.getuid?.() === 0 ? undefined : "only root runs commands as another user";
describeUnless(notRoot, "a store of another user", () => {
  test.each([
    ["in a folder that others may read", 0o755, 0o644, "this user may not open or write it or its folder"],
    ["that others may not read", 0o755, 0o600, "this user may not open or write it or its folder"],
  ])("%s: one line that says so", async (_, folderMode, mode, says) => {
    using folder = newFolder();
    chmodSync(folder.path, folderMode);
    chmodSync(folder.file("plantstore.db"), mode);
    const asOther = [programPath("setpriv"), "--reuid=61234", "--clear-groups", plantstore];
    for (const command of ["get 1", "export", "backup /nowhere/b.db"])
      expect(await runIn(folder.path, [...asOther, ...command.split(" ")])).toEqual({
        exitCode: 1,
        stdout: "",
        stderr: expect.stringMatching(
          command.startsWith("backup") ? /^plantstore: .*\n$/ : new RegExp(`^plantstore: .*${says}.*\n$`),
        ),
      });
  });
});

test.each([
  ["import wrong.ndjson", [3, 3, 3, 3]],
  ["token create --name new", [0, 1, 1, 1]],
  ["migrate --database sqlite:new.db", [0, 0, 0, 0]],
])("4 times at once, %s: each does all or nothing", async (command, exitCodes) => {
  using folder = newFolder();
  const results = await Promise.all(Array.from({ length: 4 }, () => inShell(folder.path, command)));
  expect(results.map(({ exitCode }) => exitCode).toSorted()).toEqual(exitCodes);
  const named = results.flatMap(({ stderr }) => /; see (\S+)\n$/.exec(stderr)?.[1] ?? []);
  const reports = readdirSync(folder.path).filter((file) => file.startsWith("wrong.ndjson.rejected"));
  expect(named.toSorted()).toEqual(reports.toSorted());
  for (const report of reports) expect(reportedLines(`${folder.path}/${report}`)).toEqual([1]);
});
