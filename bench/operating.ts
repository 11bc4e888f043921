// The suite "operating": what it costs to see what a server does. This commit with its defaults beside itself with
// nothing watched, and beside the commit before there was anything to watch.

import { readCpu } from "./accounting.ts";
import { assertOnDisk, circumstances, circumstancesText, printedVersion } from "./circumstances.ts";
import { startCollector } from "./collector.ts";
import {
  assertChecks,
  assertCreates,
  assertDurable,
  type Durability,
  durabilityText,
  type StoreContender,
} from "./contender.ts";
import { readFlagsAgainst } from "./flags.ts";
import { firstIds, type Load } from "./load.ts";
import { judge, operatingTables } from "./operating-report.ts";
import { commandOf } from "./other-commit.ts";
import { startPlantstore } from "./plantstore.ts";
import { assertMet, program } from "./requirements.ts";
import { writeResult } from "./results.ts";
import { measureRounds, warmUp } from "./rounds.ts";
import { rowCount, rowCountText, rowsInFile } from "./row-count.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { runWrk } from "./wrk.ts";

/** The last one without events: no log of requests, no metrics, no traces, no ids of requests. */
const lastCommitWithoutEvents = "26d2bb1";

const connections = [64, 256];

/** Runs the suite: tables on standard output, progress by `tell`. */
export async function operating(args: readonly string[], tell: (line: string) => void): Promise<void> {
  const { rounds, seconds, against } = readFlagsAgainst(args, lastCommitWithoutEvents);
  assertMet([program("wrk", Bun.which("wrk"), "wrk"), program("git", Bun.which("git"), "git")]);
  await using stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  tell(`installing ${against}`);
  const contenders = await startAll(folder, await commandOf(against, folder), stack);
  const ids = firstIds();
  for (const contender of contenders) {
    await assertCreates(contender, ids.next().value);
    await assertChecks(contender);
    assertDurable(contender.name, contender.durability);
  }
  const under = circumstances(folder, { wrk: printedVersion(["wrk", "-v"]) });
  assertOnDisk(under);

  const entrants = contenders.map((contender) => ({
    name: contender.name,
    drive: (load: Load) => runWrk(contender, load),
    readCpu: () => readCpu(contender.pid),
  }));
  const plan = { entrants, connections, rounds, seconds, firstIds: ids, tell };
  const warmUps = await warmUp(plan);
  const measurements = await measureRounds(plan);
  for (const contender of contenders) await contender.stop();
  const runs = [...warmUps, ...measurements];
  const rowCounts = contenders.map(({ name, file }) => rowCount(name, rowsInFile(file), [name], runs));

  const figures = { measurements, connections, contenders: contenders.map(({ name }) => name) };
  process.stdout.write(`
${operatingTables(figures)}

${circumstancesText(under)}
- ${rounds} rounds, runs of ${seconds} s, wrk with one thread; ratios are taken round by round; "before events" is ${against}
- ${contenders.map(({ name, durability }) => `${name}: ${durabilityText(durability)}`).join("; ")}
- ${rowCounts.map(rowCountText).join("; ")}
`);
  const result = { rounds, seconds, against, judged: judge(figures), rowCounts, measurements };
  tell(`written to ${await writeResult("operating", under, result)}`);
}

type Operated = StoreContender & { readonly durability: Durability };

async function startAll(folder: string, before: string, stack: AsyncDisposableStack): Promise<Operated[]> {
  const collector = stack.use(startCollector());
  const start = (name: string, options: Parameters<typeof startPlantstore>[2]) =>
    startPlantstore(folder, stack, { name, ...options });
  return [
    await start("defaults", { adminListener: "on" }),
    await start("unwatched", { flags: ["--access-log", "0"] }),
    await start("before events", { command: before }),
    await start("every request logged", {
      adminListener: "on",
      flags: ["--access-log", "1000000"],
      log: "dropped",
    }),
    await start("traced", { adminListener: "on", flags: ["--otlp-endpoint", collector.url] }),
  ];
}
