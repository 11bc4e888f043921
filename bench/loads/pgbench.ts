// PostgreSQL's own load generator, as the measure of what the database does without a server in
// front of it: one prepared INSERT a transaction.

import { runProgram } from "../processes.ts";
import { toPlant } from "../subjects/http.ts";
import { metrics, type Run, type Trial } from "../suite.ts";

const script = new URL("pgbench-create.sql", import.meta.url).pathname;

/** The number at which pgbench is fastest, independent of the connections of the load. */
const clients = 64;

/** Runs pgbench on a database of the PostgreSQL server on this machine that listens at a port. */
export async function runPgbench(port: number, database: string, { seconds, firstId }: Trial): Promise<Run> {
  const variables = { count: 0, clients, first_id: firstId, ...toPlant(firstId) };
  const { stdout, cpu } = await runProgram([
    ...["pgbench", "--host=127.0.0.1", `--port=${port}`, "--username=postgres", "--protocol=prepared"],
    ...[`--client=${clients}`, "--jobs=1", `--time=${seconds}`, "--no-vacuum"],
    ...Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`),
    ...[`--file=${script}`, database],
  ]);
  const requests = numberIn(stdout, /number of transactions actually processed: (\d+)/);
  if (requests === 0 || numberIn(stdout, /number of failed transactions: (\d+)/) > 0)
    throw new Error(`a run of pgbench is void: ${stdout}`);
  const figures = { [metrics.creates]: numberIn(stdout, /tps = ([\d.]+)/) };
  return { figures, requests, acknowledged: requests, loadCpu: cpu };
}

function numberIn(output: string, pattern: RegExp): number {
  const text = pattern.exec(output)?.[1];
  if (text === undefined) throw new Error(`pgbench printed no ${pattern.source}: ${output}`);
  return Number(text);
}
