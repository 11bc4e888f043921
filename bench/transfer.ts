// The suite "transfer": imports and exports beside the engines' own tools, and the memory that they take.

import { assertOnDisk, circumstances, circumstancesText, printedVersion } from "./circumstances.ts";
import { readTransferFlags } from "./flags.ts";
import { BenchPostgres } from "./postgres-server.ts";
import { assertMet, program } from "./requirements.ts";
import { writeResult } from "./results.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { postgresPlaces, sqlitePlaces } from "./transfer-places.ts";
import { judge, transferTables } from "./transfer-report.ts";
import { movers, runTransfers } from "./transfer-runs.ts";

/** Runs the suite: tables on standard output, progress by `tell`. */
export async function transfer(args: readonly string[], tell: (line: string) => void): Promise<void> {
  const { rounds, plants, plantsMore } = readTransferFlags(args);
  assertMet([
    program("sqlite3", Bun.which("sqlite3"), "sqlite3"),
    program("psql", Bun.which("psql"), "postgresql-client"),
  ]);
  await using stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  const server = await BenchPostgres.start(stack);
  const settings = await server.settings();
  const under = circumstances(folder, {
    PostgreSQL: await server.ask("SHOW server_version"),
    psql: printedVersion(["psql", "--version"]),
    sqlite3: printedVersion(["sqlite3", "--version"]),
  });
  assertOnDisk(under);

  const places = [sqlitePlaces(folder), postgresPlaces(server)];
  const plan = { folder, places, tell };
  const runs = await runTransfers({ ...plan, plants, rounds, movers });
  const ours = movers.filter((mover) => mover !== "tool");
  const more = await runTransfers({ ...plan, plants: plantsMore, rounds: 1, movers: ours });
  const figures = { runs, memoryRuns: [...runs, ...more] };

  process.stdout.write(`
${transferTables(figures, places)}

${circumstancesText(under)}
- ${plants.toLocaleString("en-US")} plants and ${rounds} rounds for the rates, each import into a new store; ratios are taken round by round
- all processes from start to end; every store and every exported file was counted, and had all plants
- ${Object.entries(settings)
    .map((setting) => setting.join(" "))
    .join(", ")}
`);
  const result = { rounds, plants, plantsMore, judged: judge(figures, places), settings, ...figures };
  tell(`written to ${await writeResult("transfer", under, result)}`);
}
