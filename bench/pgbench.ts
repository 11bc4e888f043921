// The yardstick on PostgreSQL: pgbench, its own load generator, with nothing between it and the database.

import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { toPlant } from "./contender.ts";
import type { Load, LoadResult } from "./load.ts";
import { runAccounted } from "./processes.ts";

const script = new URL("pgbench-create.sql", import.meta.url).pathname;

export const pgbenchClients = 64;

/** One answer in so many is looked at for its latency. */
const latencySample = 100;

/** Has pgbench create plants in a database on this machine. It has its own number of clients, whatever is asked for. */
export async function runPgbench(
  port: number,
  database: string,
  folder: string,
  { seconds, firstId }: Omit<Load, "connections">,
): Promise<LoadResult> {
  const log = `${folder}/pgbench-${firstId}`;
  const { name, tag } = toPlant(firstId);
  const variables = { count: 0, clients: pgbenchClients, first_id: firstId, name, tag };
  const { stdout, cpu } = await runAccounted([
    "pgbench",
    "--host=127.0.0.1",
    `--port=${port}`,
    "--username=postgres",
    "--protocol=prepared",
    `--client=${pgbenchClients}`,
    "--jobs=1",
    `--time=${seconds}`,
    "--no-vacuum",
    "--log",
    `--log-prefix=${log}`,
    `--sampling-rate=${1 / latencySample}`,
    ...Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`),
    `--file=${script}`,
    database,
  ]);
  const failed = numberIn(stdout, /number of failed transactions: (\d+)/);
  const requests = numberIn(stdout, /number of transactions actually processed: (\d+)/);
  if (failed > 0 || requests === 0)
    throw new Error(`a run of pgbench is void: ${requests} creates, ${failed} failures`);
  const perSecond = numberIn(stdout, /tps = ([\d.]+)/);
  return { requests, perSecond, ...latencyIn(log), loadCpu: cpu };
}

function numberIn(output: string, pattern: RegExp): number {
  const text = pattern.exec(output)?.[1];
  if (text === undefined) throw new Error(`pgbench printed no ${pattern.source}: ${output}`);
  return Number(text);
}

/** From its log, in which the third field of a line is the microseconds that a create took. */
function latencyIn(prefix: string): { p50Ms: number; p99Ms: number } {
  const [path] = [...new Bun.Glob(`${basename(prefix)}.*`).scanSync(dirname(prefix))];
  const lines = readFileSync(join(dirname(prefix), path ?? ""), "utf8")
    .trim()
    .split("\n");
  const sorted = lines.map((line) => Number(line.split(" ")[2]) / 1e3).toSorted((one, other) => one - other);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
