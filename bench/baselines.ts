// The same service as others write it: baselines/*/baseline.json. A baseline gets PORT, TOKEN and
// DATABASE (a file or a PostgreSQL address), serves POST /plants on 127.0.0.1 with every check on,
// keeps the plants in a table "plants", and ends upon SIGTERM. It is built outside the checkout,
// and kept: Rust takes minutes.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { reservePort } from "../test/support/ports.ts";
import { readThreads, residentMb } from "./cpu-usage.ts";
import { printedVersion, runProgram, ServerProcess } from "./processes.ts";
import { countSqliteRows, sqliteDurability } from "./sqlite.ts";
import { assertChecks, type HttpSubject, toPlant, untilCreates } from "./subjects/http.ts";
import type { Setup, Threshold } from "./suite.ts";

/**
 * baseline.json. Commands run in the copy of the baseline's folder; "bun" is the benchmark's
 * runtime.
 */
interface Entry {
  /** As tables name it, such as "fastify". */
  readonly name: string;
  /** The suites that it takes part in. */
  readonly suites: readonly string[];
  /** The path of its collection, where the server chooses the ids. */
  readonly collection?: string;
  /** How it replaces; PUT by default. */
  readonly replaceBy?: string;
  /** The parameter of its list for the length of a page; "limit" by default. */
  readonly limit?: string;
  /** The SQLite file, where DATABASE is its folder. */
  readonly file?: string;
  /** False if a create is answered before it is on the disk. */
  readonly isDurable?: boolean;
  /** Its parts, and its settings of durability. */
  readonly settings?: string;
  /** True if it has no store, and answers RESPONSE of its environment to everything. */
  readonly isConstant?: boolean;
  readonly build?: readonly string[];
  readonly run: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Commands that print the versions in use, by name. */
  readonly versions?: Readonly<Record<string, readonly string[]>>;
  /** The ratio of this server's creates/s to the baseline's that a claim demands, by load. */
  readonly thresholds?: Readonly<Record<string, Threshold>>;
}

export interface Baseline extends HttpSubject {
  readonly pid: number;
  /** The address of its database. */
  readonly database: string;
  readonly limit: string | undefined;
  readonly replaceBy: string | undefined;
  readonly thresholds: Readonly<Record<string, Threshold>>;
}

/** The database of a baseline. */
export interface BaselineDatabase {
  readonly address: string;
  readonly countRows: () => number | Promise<number>;
  /** A SQLite file is found by watching the baseline. */
  readonly durability?: string;
}

const sources = new URL("baselines/", import.meta.url).pathname;

/** Where baselines are built. */
const cache = `${process.env.XDG_CACHE_HOME ?? `${process.env.HOME}/.cache`}/plantstore-bench`;

/** Builds and starts the baselines of a suite. One that cannot be built or started is skipped. */
export async function startBaselines(
  setup: Setup,
  suite: string,
  newDatabase: (name: string) => Promise<BaselineDatabase>,
): Promise<Baseline[]> {
  const started: Baseline[] = [];
  for (const file of [...new Bun.Glob("*/baseline.json").scanSync(sources)].toSorted()) {
    const entry = (await Bun.file(`${sources}${file}`).json()) as Entry;
    if (!entry.suites.includes(suite)) continue;
    try {
      const cwd = await build(entry, `${sources}${dirname(file)}`, setup.progress);
      started.push(await start(entry, cwd, setup, await newDatabase(entry.name)));
    } catch (error) {
      setup.skip(entry.name, String(error).split("\n").at(-1) ?? "");
    }
  }
  return started;
}

/** A new SQLite file in the folder of the scenario. */
export function sqliteDatabase({ folder }: Setup): (name: string) => Promise<BaselineDatabase> {
  return async (name) => {
    const address = `${folder}/${name.replaceAll(/\W+/g, "-")}.db`;
    return { address, countRows: () => countSqliteRows(address) };
  };
}

/** Copies a baseline to a folder named by its hash, and builds it there once. */
async function build(
  { name, build = [] }: Entry,
  from: string,
  progress: Setup["progress"],
): Promise<string> {
  const files = sourceFiles(from).map((file) => ({ file, bytes: readFileSync(`${from}/${file}`) }));
  const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify(build));
  for (const { file, bytes } of files) hash.update(file).update(bytes);
  const to = `${cache}/${basename(from)}-${hash.digest("hex").slice(0, 12)}`;
  const marker = `${to}/is-built`;
  if (existsSync(marker)) return to;
  for (const { file, bytes } of files) {
    mkdirSync(dirname(`${to}/${file}`), { recursive: true });
    writeFileSync(`${to}/${file}`, bytes);
  }
  if (build.length > 0) {
    progress(`building ${name}: ${build.join(" ")}`);
    await runProgram(build, { cwd: to });
  }
  writeFileSync(marker, "");
  return to;
}

/** Without settings, and packages that an editor may have installed in the checkout. */
function sourceFiles(folder: string): string[] {
  const files = [...new Bun.Glob("**/*").scanSync(folder)].toSorted();
  return files.filter((file) => !/^(?:node_modules|target)\/|^baseline\.json$/.test(file));
}

async function start(
  entry: Entry,
  cwd: string,
  setup: Setup,
  { address, countRows, durability }: BaselineDatabase,
): Promise<Baseline> {
  const file = entry.file === undefined ? address : `${address}/${entry.file}`;
  const { name, isConstant = false, versions = {}, thresholds = {} } = entry;
  const port = reservePort();
  const token = "a-token-as-long-as-one-of-those-that-plantstore-issues";
  const firstId = setup.nextFirstId();
  const response = isConstant ? { RESPONSE: JSON.stringify(toPlant(firstId)) } : {};
  const env = { PORT: String(port), TOKEN: token, DATABASE: address, ...response, ...entry.env };
  const server = setup.stack.use(new ServerProcess(inFolder(entry.run, cwd), { cwd, env }));
  const { pid } = server;
  const subject = {
    name,
    url: `http://127.0.0.1:${port}`,
    token,
    pid,
    thresholds,
    readCpu: () => readThreads(pid),
    residentMb: () => residentMb(pid),
    stop: () => server.stop(),
    collection: entry.collection,
    database: file,
    limit: entry.limit,
    replaceBy: entry.replaceBy,
  };
  try {
    await untilCreates(subject, firstId);
  } catch (error) {
    if (server.hasEnded) throw new Error(`it ended: ${(await server.stderr).trim()}`);
    throw error;
  }
  for (const [name, print] of Object.entries(versions))
    setup.recordVersion(name, printedVersion(inFolder(print, cwd), cwd));
  const settings = entry.settings === undefined ? "" : ` (${entry.settings})`;
  if (isConstant) return { ...subject, durability: `none${settings}` };
  await assertChecks(subject, firstId);
  const found =
    entry.isDurable === false
      ? "does not wait for the disk"
      : (durability ?? (await sqliteDurability(subject, { pid, file, firstId: firstId + 1 })));
  const counted = entry.file === undefined ? countRows : () => countSqliteRows(file);
  return { ...subject, countRows: counted, durability: `${found}${settings}` };
}

function inFolder([program = "", ...args]: readonly string[], cwd: string): string[] {
  if (program === "bun") return [process.execPath, ...args];
  return [program.includes("/") ? `${cwd}/${program}` : program, ...args];
}
