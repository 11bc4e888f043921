// The suite "overload": three times what a server takes, offered by a schedule that does not wait for it. Once where
// the processors are the limit, and once where the store is.

import { residentMb } from "./accounting.ts";
import { accountFor, accountText } from "./acknowledged.ts";
import { assertOnDisk, circumstances, circumstancesText } from "./circumstances.ts";
import { assertChecks, assertCreates } from "./contender.ts";
import { readFlags } from "./flags.ts";
import { firstIds } from "./load.ts";
import { judge, overloadTables } from "./overload-report.ts";
import { measureOverload, type Overloaded, type OverloadPlan } from "./overload-rounds.ts";
import { createToken, startPlantstore, startPlantstoreOn } from "./plantstore.ts";
import { BenchPostgres } from "./postgres-server.ts";
import { writeResult } from "./results.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** By how much a commit of the slow store is slower: about as with a synchronous standby an ocean away. */
const slowCommitMs = 100;

/** Batches that the slow store commits at a time. */
const slowPoolSize = 2;

/** As many as it commits in a fifth of a second; with one create a connection the default's 10,000 are never reached. */
const slowQueuePlantsMax = 4_000;

/** Runs the suite: tables on standard output, progress by `tell`. */
export async function overload(args: readonly string[], tell: (line: string) => void): Promise<void> {
  const { rounds, seconds } = readFlags(args);
  await using stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  const postgres = await BenchPostgres.start(stack);
  const servers = [await limitedByProcessors(folder, stack), await limitedByStore(postgres, stack)];
  const under = circumstances(folder, { PostgreSQL: await postgres.ask("SHOW server_version") });
  assertOnDisk(under);

  const plan: OverloadPlan = { rounds, seconds, folder, firstIds: firstIds(), tell };
  const figures = [];
  const accounts = [];
  for (const overloaded of servers) {
    const { name, database, contender } = overloaded;
    await assertCreates(contender, plan.firstIds.next().value);
    await assertChecks(contender);
    const { rounds, runs } = await measureOverload(overloaded, plan);
    figures.push({ name, rounds, residentMb: residentMb(contender.pid) });
    await contender.stop();
    accounts.push(await accountFor(name, database, runs));
  }

  process.stdout.write(`
${overloadTables(figures)}

${circumstancesText(under)}
- ${rounds} rounds, runs of ${seconds} s behind a lead-in of 1 s; the generator has one thread on the same processors; ratios are taken round by round
- slow PostgreSQL: a trigger adds ${slowCommitMs} ms to each commit, ${slowPoolSize} connections, --queue-plants-max ${slowQueuePlantsMax}
- ${accounts.map(accountText).join("; ")}
`);
  const result = { rounds, seconds, judged: judge(figures), accounts, figures };
  tell(`written to ${await writeResult("overload", under, result)}`);
}

async function limitedByProcessors(folder: string, stack: AsyncDisposableStack): Promise<Overloaded> {
  const contender = await startPlantstore(folder, stack);
  const connections = { peak: 256, overload: 8_000 };
  return { name: "SQLite", contender, database: `sqlite:${contender.file}`, connections };
}

async function limitedByStore(postgres: BenchPostgres, stack: AsyncDisposableStack): Promise<Overloaded> {
  const database = await postgres.createDatabase("overload");
  const token = await createToken(database);
  await postgres.slowCommits("overload", slowCommitMs);
  const address = `${database}?pool_size=${slowPoolSize}`;
  const flags = ["--queue-plants-max", String(slowQueuePlantsMax)];
  const contender = await startPlantstoreOn(address, token, stack, { flags });
  return { name: "slow PostgreSQL", contender, database, connections: { peak: 4_000, overload: 8_000 } };
}
