// Shared by the tests of backup and restore: folders with stores and a backup, the commands, and
// what a folder contains.

import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { type CommandResult, runCommand, TemporaryFolder } from "./server.ts";
import { storePlants } from "./stored-plants.ts";

export const commandNames = ["backup", "restore"] as const;
export type CommandName = (typeof commandNames)[number];

/** How many plants a file has that a command wrote from its usual source. */
export const plantsWritten: Readonly<Record<CommandName, number>> = { backup: 3, restore: 2 };

/**
 * In every folder: plants.db, a store of 3 plants; other.db, a store of 1; backup.db, a backup of
 * 2. None is open.
 */
export const fileNames = ["plants.db", "other.db", "backup.db"];

/** Makes folders with these files, which are written once and copied. */
export async function createStoreFolders() {
  const template = new TemporaryFolder();
  for (const [name, count] of [
    ["plants.db", 3],
    ["other.db", 1],
    ["two.db", 2],
  ] as const) {
    const plants = Array.from({ length: count }, (_, id) => ({ id: BigInt(id), name: `plant ${id}` }));
    await storePlants(`sqlite:${template.file(name)}`, plants);
  }
  expectSuccess(await execute("backup", template, "backup.db", { source: "two.db" }));
  return {
    newFolder(): TemporaryFolder {
      const folder = new TemporaryFolder();
      for (const name of fileNames) copyFileSync(template.file(name), folder.file(name));
      setModes(folder, 0o644);
      return folder;
    },
    [Symbol.dispose]: () => template[Symbol.dispose](),
  };
}

interface Given {
  /** The name of the file that is read: by default plants.db for backup, backup.db for restore. */
  readonly source?: string | undefined;
  /** Whether restore has --force. */
  readonly force?: boolean;
}

/** The arguments with which a command writes to the target, the name of a file in the folder. */
export function argumentsOf(
  command: CommandName,
  folder: TemporaryFolder,
  target: string,
  { source = command === "backup" ? "plants.db" : "backup.db", force = false }: Given = {},
): string[] {
  const [file, store] = command === "backup" ? [target, source] : [source, target];
  const args = [command, folder.file(file), "--database", `sqlite:${folder.file(store)}`];
  return command === "restore" && force ? [...args, "--force"] : args;
}

/** Runs a command in this process: another takes 0.1 s, and few cases are about it. */
export function execute(...args: Parameters<typeof argumentsOf>): Promise<CommandResult> {
  return runCommand(argumentsOf(...args));
}

/** The command has done its work, and says so. */
export function expectSuccess({ exitCode, stderr }: CommandResult): void {
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: expect.stringMatching(/^[^\n]*(?:, verified|were revoked since)\.\n$/),
  });
}

/** The command has changed nothing, and says why in one line. */
export function expectRefusal({ exitCode, stderr }: CommandResult, refusal: RegExp, expectedCode = 1): void {
  expect(stderr).toMatch(refusal);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
  expect(exitCode).toBe(expectedCode);
}

export function setModes(folder: TemporaryFolder, mode: number): void {
  for (const name of fileNames) chmodSync(folder.file(name), mode);
}

/** Leaves a WAL with a plant beside a store, as kill -9 does. */
export function leaveLog(path: string): void {
  const script = `
    const { Database } = require("bun:sqlite");
    const database = new Database(process.argv[1]);
    database.run("PRAGMA journal_mode = WAL");
    database.run("INSERT INTO plants (id, name, created_at) VALUES (1000, 'in the log', 0)");
    process.kill(process.pid, "SIGKILL");`;
  spawnSync(process.execPath, ["-e", script, path]);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
}

/** The names of all entries below a folder; links are not followed. */
function entriesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
}

/** Every entry below a folder: its kind, its mode, and its bytes or its target. */
export function snapshot(folder: string): Record<string, string> {
  return Object.fromEntries(
    entriesOf(folder).map((name) => {
      const path = `${folder}/${name}`;
      const stat = lstatSync(path);
      const bytes = stat.isFile() ? Bun.hash(readFileSync(path)) : "";
      const link = stat.isSymbolicLink() ? readlinkSync(path) : "";
      return [name, `${stat.mode.toString(8)} ${bytes}${link}`];
    }),
  );
}

/** How many plants a file has, which must be complete without a WAL beside it. */
export function plantsIn(file: string): number {
  const beside = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}-`));
  expect(beside).toEqual([]);
  using database = new Database(file, { readonly: true });
  expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
  return Number(database.query("SELECT count(*) FROM plants").values()[0]?.[0]);
}

/** The names of unfinished copies below a folder. */
export function unfinished(folder: string): string[] {
  return entriesOf(folder).filter((name) => /\.partial/.test(name));
}
