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
import { OperatorError } from "../../../src/core/operator-error.ts";
import { backUp, restore } from "../../../src/operations/backup.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";

export const commandNames = ["backup", "restore"] as const;
export type CommandName = (typeof commandNames)[number];

/** How many plants a file has that a command wrote from its usual source. */
export const plantsWritten: Readonly<Record<CommandName, number>> = { backup: 3, restore: 2 };

/**
 * In every folder: plants.db, a store of 3 plants; other.db, a store of 1; backup.db, a backup of
 * 2. None is open.
 */
export const fileNames = ["plants.db", "other.db", "backup.db"];

export type StoreFolders = Awaited<ReturnType<typeof createStoreFolders>>;

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
  expect(await execute("backup", template, "backup.db", { source: "two.db", force: false })).toBeUndefined();
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

/**
 * The arguments with which a command writes the target from the source, both by their names in the
 * folder.
 */
export function argumentsOf(
  command: CommandName,
  folder: TemporaryFolder,
  target: string,
  source = command === "backup" ? "plants.db" : "backup.db",
): string[] {
  const [file, store] = command === "backup" ? [target, source] : [source, target];
  return [command, folder.file(file), "--database", `sqlite:${folder.file(store)}`];
}

/**
 * Does what a command does, in this process: a process takes 0.1 s, and few cases are about it.
 * Returns the error that the command would print.
 */
export async function execute(
  command: CommandName,
  folder: TemporaryFolder,
  target: string,
  { source, force }: { readonly source?: string | undefined; readonly force: boolean },
): Promise<OperatorError | undefined> {
  const [, file = "", , database = ""] = argumentsOf(command, folder, target, source);
  try {
    if (command === "backup") backUp(database, file);
    else restore(database, file, force);
    return undefined;
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
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
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? [entry.name, ...entriesOf(`${folder}/${entry.name}`).map((name) => `${entry.name}/${name}`)]
      : [entry.name],
  );
}

/** Every entry below a folder: its kind, its mode, and its bytes or its target. */
export function snapshot(folder: string): Record<string, string> {
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
