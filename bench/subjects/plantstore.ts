// This project's server as a subject, started as a user starts it.

import { plantstore, RunningServer } from "../../test/support/server.ts";
import { readThreads, residentMb } from "../cpu-usage.ts";
import type { MemoryGroup } from "../memory-group.ts";
import { runProgram } from "../processes.ts";
import { countSqliteRows, sqliteDurability } from "../sqlite.ts";
import type { Plantstore, Setup } from "../suite.ts";
import { assertChecks, type HttpSubject, untilCreates } from "./http.ts";

export const thisCommit: Plantstore = { command: plantstore, suffix: "" };

export interface PlantstoreSubject extends HttpSubject {
  readonly server: RunningServer;
}

interface PlantstoreOptions {
  readonly name?: string;
  /** A new SQLite file if left out. */
  readonly database?: string;
  readonly token?: string;
  readonly countRows?: () => number | Promise<number>;
  readonly durability?: string;
  /** The control group in which the server runs. */
  readonly memory?: MemoryGroup;
  /** A description of the collection /plants, whose ids the server chooses. */
  readonly contract?: string;
}

/** Starts a server, on a new SQLite store unless told otherwise. */
export async function startPlantstore(
  { stack, folder, nextFirstId }: Setup,
  version: Plantstore,
  options: PlantstoreOptions = {},
): Promise<PlantstoreSubject> {
  const name = `${options.name ?? "plantstore"}${version.suffix}`;
  const file = `${folder}/${name.replaceAll(/\W+/g, "-")}.db`;
  const database = options.database ?? `sqlite:${file}`;
  const token = options.token ?? (await createToken(version, database, options.contract));
  // The shell becomes the command of the version; its own argument 0 is that of this commit.
  const join = options.memory === undefined ? "" : `echo $$ > '${options.memory.members}' && `;
  const under = ["sh", "-c", `${join}exec '${version.command}' "$@"`];
  const server = stack.use(
    await RunningServer.start({ database, under, args: contractFlags(options.contract) }),
  );
  const subject = {
    name,
    url: server.url,
    token,
    server,
    collection: options.contract === undefined ? undefined : "/plants",
    countRows: options.countRows ?? (() => countSqliteRows(file)),
    readCpu: () => readThreads(server.pid),
    residentMb: () => residentMb(server.pid),
    stop: () => stop(name, server),
  };
  const firstId = nextFirstId();
  await untilCreates(subject, firstId);
  await assertChecks(subject, firstId);
  const durability =
    options.durability ??
    (await sqliteDurability(subject, {
      pid: server.pid,
      file: database.replace(/^sqlite:/, ""),
      firstId: firstId + 1,
    }));
  return { ...subject, durability };
}

/** Starts the server of each commit on a new SQLite store. */
export async function startVersions(setup: Setup): Promise<PlantstoreSubject[]> {
  const servers: PlantstoreSubject[] = [];
  for (const version of setup.versions) servers.push(await startPlantstore(setup, version));
  return servers;
}

/** A token of a store, which is made if it does not exist. */
export async function createToken(
  { command }: Plantstore,
  database: string,
  contract?: string,
  name = "bench",
): Promise<string> {
  await runProgram([command, "migrate", "--database", database, ...contractFlags(contract)]);
  const { stdout } = await runProgram([
    command,
    ...`token create --name ${name} --database`.split(" "),
    database,
  ]);
  return stdout.trim();
}

function contractFlags(contract: string | undefined): string[] {
  return contract === undefined ? [] : ["--contract", contract];
}

async function stop(name: string, server: RunningServer): Promise<void> {
  const { exitCode, stderr } = await server.stop();
  if (exitCode !== 0) throw new Error(`${name} ended with exit code ${exitCode}: ${stderr.slice(-1_000)}`);
}
