// The suite "postgres": creates a second on PostgreSQL beside the service as people usually write it and beside
// PostgreSQL's own load generator, and what several servers on one database gain.

import { assertOnDisk, circumstances, circumstancesText, printedVersion } from "./circumstances.ts";
import { readFlags } from "./flags.ts";
import { firstIds } from "./load.ts";
import type { MeasuredRounds } from "./load-report.ts";
import { nginxPath } from "./nginx.ts";
import { peerNode, peerVersions } from "./peers.ts";
import { pgbenchClients } from "./pgbench.ts";
import { PostgresParties } from "./postgres-parties.ts";
import { judge, postgresTables } from "./postgres-report.ts";
import { BenchPostgres } from "./postgres-server.ts";
import { assertMet, peerPackages, program } from "./requirements.ts";
import { writeResult } from "./results.ts";
import { type Measurement, measureRounds, type RoundsPlan, warmUp } from "./rounds.ts";
import { type RowCount, rowCount, rowCountText } from "./row-count.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const peerConnections = [64, 256];
const fleetConnections = [256];

/** Runs the suite: tables on standard output, progress by `tell`. */
export async function postgres(args: readonly string[], tell: (line: string) => void): Promise<void> {
  const { rounds, seconds } = readFlags(args);
  assertMet([
    program("wrk", Bun.which("wrk"), "wrk"),
    program("nginx", nginxPath(), "nginx-light"),
    program("pgbench", Bun.which("pgbench"), "postgresql-contrib"),
    peerPackages("express-postgres", peerNode("express-postgres")),
  ]);
  await using stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  const database = await BenchPostgres.start(stack);
  const ids = firstIds();
  const parties = new PostgresParties(database, folder, ids.next().value, stack);
  const singles = [await parties.plantstore(), await parties.express(), await parties.pgbench()];
  const several = await parties.fleet();
  const settings = await database.settings();
  const under = circumstances(database.folder, {
    PostgreSQL: await database.ask("SHOW server_version"),
    ...(await peerVersions("express-postgres", ["express", "pg"])),
    nginx: printedVersion([nginxPath() ?? "", "-v"]),
    pgbench: printedVersion(["pgbench", "--version"]),
    wrk: printedVersion(["wrk", "-v"]),
  });
  assertOnDisk(under);

  const plan = { rounds, seconds, firstIds: ids, tell };
  const single = singles.flatMap(({ entrants }) => entrants);
  const peers = await measure({ ...plan, entrants: single, connections: peerConnections });
  const fleet = await measure({ ...plan, entrants: several.entrants, connections: fleetConnections });
  const writers = [...singles, several];
  for (const { processes } of writers) for (const process of processes) await process.stop();
  const runs = [...peers.warmUps, ...peers.measurements, ...fleet.warmUps, ...fleet.measurements];
  const rowCounts: RowCount[] = [];
  for (const { database: name, entrants } of writers) {
    const contenders = entrants.map(({ name }) => name);
    rowCounts.push(rowCount(name, await database.rowsIn(name), contenders, runs));
  }

  process.stdout.write(`
${postgresTables({ peers, fleet })}

${circumstancesText(under)}
- ${rounds} rounds, runs of ${seconds} s, wrk with one thread, pgbench with ${pgbenchClients} clients in one thread; ratios are taken round by round
- ${Object.entries(settings)
    .map((setting) => setting.join(" "))
    .join(", ")}
- ${rowCounts.map(rowCountText).join("; ")}
`);
  const judged = judge({ peers, fleet });
  const result = { rounds, seconds, judged, settings, rowCounts, peers, fleet };
  tell(`written to ${await writeResult("postgres", under, result)}`);
}

async function measure(plan: RoundsPlan): Promise<MeasuredRounds & { warmUps: Measurement[] }> {
  const warmUps = await warmUp(plan);
  const measurements = await measureRounds(plan);
  const contenders = plan.entrants.map(({ name }) => name);
  return { warmUps, measurements, connections: plan.connections, contenders };
}
