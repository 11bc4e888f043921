// The same service as others write it: each folder of baselines/ with a baseline.json is one. It is started with
// PORT, TOKEN and DATABASE (a file or a PostgreSQL address) in its environment, serves POST /plants on 127.0.0.1 with
// every check on, keeps the plants in a table "plants", and ends upon SIGTERM.

import { statSync, utimesSync } from "node:fs";
import { readThreads, residentMb } from "./cpu-usage.ts";
import { CountedStore, countSqliteRows, sqliteDurability } from "./durability-audit.ts";
import { findPort, findProgram, printedVersion, runProgram, ServerProcess } from "./processes.ts";
import { assertChecks, type HttpSubject, untilCreates } from "./subjects/http.ts";
import type { Setup, Store, Threshold } from "./suite.ts";

/** baseline.json. Commands run in the baseline's folder, where a program with a slash in its name is looked for. */
interface Entry {
  /** As tables name it, such as "fastify". */
  readonly name: string;
  /** The suite that it takes part in: "create" on SQLite, "postgres" on PostgreSQL. */
  readonly suite: string;
  /** Programs that must be on PATH: it is skipped where one is missing. */
  readonly needs: readonly string[];
  /** Runs if `product` is missing, or older than a file in the folder. */
  readonly build: readonly string[];
  /** A file that `build` makes. */
  readonly product: string;
  readonly run: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Commands that print the versions in use, by name. */
  readonly versions?: Readonly<Record<string, readonly string[]>>;
  /** What creates/s of this server, times the baseline's, must be, by load. */
  readonly thresholds?: Readonly<Record<string, Threshold>>;
}

export interface Baseline extends HttpSubject {
  readonly pid: number;
  readonly thresholds: Readonly<Record<string, Threshold>>;
}

/** The database of a baseline, and how it is audited. */
export interface BaselineDatabase {
  readonly address: string;
  readonly store: Store;
  /** That of SQLite is found by watching the baseline. */
  readonly durability?: string;
}

const folder = new URL("baselines/", import.meta.url).pathname;

/** Builds and starts the baselines of a suite. One that cannot be built or started here is skipped with the reason. */
export async function startBaselines(
  setup: Setup,
  suite: string,
  newDatabase: (name: string) => Promise<BaselineDatabase>,
): Promise<Baseline[]> {
  const started: Baseline[] = [];
  for (const file of [...new Bun.Glob("*/baseline.json").scanSync(folder)].toSorted()) {
    const entry = (await Bun.file(`${folder}${file}`).json()) as Entry;
    if (entry.suite !== suite) continue;
    const cwd = `${folder}${file.replace("/baseline.json", "")}`;
    const missing = entry.needs.filter((program) => findProgram(program) === null);
    if (missing.length > 0) setup.skip(entry.name, `not installed: ${missing.join(", ")}`);
    else {
      try {
        await build(entry, cwd, setup.progress);
        started.push(await start(entry, cwd, setup, await newDatabase(entry.name)));
      } catch (error) {
        setup.skip(entry.name, String(error).split("\n").at(-1) ?? "");
      }
    }
  }
  return started;
}

/** A new SQLite file in the folder of the scenario. */
export function sqliteDatabase({ folder }: Setup): (name: string) => Promise<BaselineDatabase> {
  return async (name) => {
    const address = `${folder}/${name.replaceAll(/\W+/g, "-")}.db`;
    return { address, store: new CountedStore(name, () => countSqliteRows(address)) };
  };
}

async function build(
  { name, build, product }: Entry,
  cwd: string,
  progress: Setup["progress"],
): Promise<void> {
  const file = `${cwd}/${product}`;
  const sources = [...new Bun.Glob("*").scanSync(cwd)].map((source) => modifiedAt(`${cwd}/${source}`));
  if (modifiedAt(file) >= Math.max(...sources)) return;
  progress(`building ${name}: ${build.join(" ")}`);
  await runProgram(build, { cwd });
  utimesSync(file, new Date(), new Date());
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

async function start(
  { name, run, env = {}, versions = {}, thresholds = {} }: Entry,
  cwd: string,
  setup: Setup,
  { address, store, durability }: BaselineDatabase,
): Promise<Baseline> {
  const port = findPort();
  const token = "a-token-as-long-as-one-of-those-that-plantstore-issues";
  const command = inFolder(run, cwd);
  const settings = { PORT: String(port), TOKEN: token, DATABASE: address, ...env };
  const server = setup.stack.use(new ServerProcess(command, { cwd, env: settings }));
  const { pid } = server;
  const url = `http://127.0.0.1:${port}`;
  const readCpu = () => readThreads([pid]);
  const subject = { name, url, token, pid, store, thresholds, readCpu, residentMb: () => residentMb(pid) };
  const firstId = setup.nextFirstId();
  try {
    await untilCreates(subject, firstId);
  } catch (error) {
    if (server.hasEnded) throw new Error(`it ended: ${(await server.stderr).trim()}`);
    throw error;
  }
  await assertChecks(subject);
  for (const [name, print] of Object.entries(versions))
    setup.recordVersion(name, printedVersion(inFolder(print, cwd), cwd));
  return {
    ...subject,
    durability: durability ?? (await sqliteDurability(subject, [pid], address, firstId + 1)),
    stop: () => server.stop(),
  };
}

function inFolder([program = "", ...args]: readonly string[], cwd: string): string[] {
  return [program.includes("/") ? `${cwd}/${program}` : program, ...args];
}
