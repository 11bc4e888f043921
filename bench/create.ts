// The suite "create": durable creates a second beside nginx's static answer and beside the service as people usually
// write it, with what each costs in processor time and memory.

import { readCpu, residentMb } from "./accounting.ts";
import { assertOnDisk, circumstances, circumstancesText, printedVersion } from "./circumstances.ts";
import { assertChecks, assertCreates, assertDurable, durabilityText, toPlant } from "./contender.ts";
import { createTables, judge } from "./create-report.ts";
import { startFastify } from "./fastify.ts";
import { readFlags } from "./flags.ts";
import { firstIds, type Load } from "./load.ts";
import { nginxPath, startNginx } from "./nginx.ts";
import { peerNode, peerVersions } from "./peers.ts";
import { startPlantstore } from "./plantstore.ts";
import { assertMet, peerPackages, program } from "./requirements.ts";
import { writeResult } from "./results.ts";
import { measureRounds, warmUp } from "./rounds.ts";
import { rowCount, rowCountText, rowsInFile } from "./row-count.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { runWrk } from "./wrk.ts";

const connections = [1, 64, 256];

/** Runs the suite: tables on standard output, progress by `tell`. */
export async function create(args: readonly string[], tell: (line: string) => void): Promise<void> {
  const { rounds, seconds } = readFlags(args);
  assertMet([
    program("wrk", Bun.which("wrk"), "wrk"),
    program("nginx", nginxPath(), "nginx-light"),
    peerPackages("fastify", peerNode("fastify")),
  ]);
  await using stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  const ids = firstIds();
  const { plantstore, nginx, fastify } = await startAll(folder, stack, ids.next().value);
  const contenders = [plantstore, nginx, fastify];
  const stores = [plantstore, fastify];
  const under = circumstances(folder, {
    ...(await peerVersions("fastify", ["fastify"], ["sqlite"])),
    nginx: printedVersion([nginx.path, "-v"]),
    wrk: printedVersion(["wrk", "-v"]),
  });
  assertOnDisk(under);

  const entrants = contenders.map((contender) => ({
    name: contender.name,
    drive: (load: Load) => runWrk(contender, load),
    readCpu: () => readCpu(contender.pid),
  }));
  const plan = { entrants, connections, rounds, seconds, firstIds: ids, tell };
  const warmUps = await warmUp(plan);
  const measurements = await measureRounds(plan);
  const resident = residentMb(plantstore.pid);
  for (const contender of contenders) await contender.stop();
  const runs = [...warmUps, ...measurements];
  const rowCounts = stores.map(({ name, file }) => rowCount(name, rowsInFile(file), [name], runs));

  const names = contenders.map(({ name }) => name);
  const figures = { measurements, connections, contenders: names, residentMb: resident };
  process.stdout.write(`
${createTables(figures)}

${circumstancesText(under)}
- ${rounds} rounds, runs of ${seconds} s, wrk with one thread; ratios are taken round by round
- ${stores.map(({ name, durability }) => `${name}: ${durabilityText(durability)}`).join("; ")}
- ${rowCounts.map(rowCountText).join("; ")}
`);
  const durability = Object.fromEntries(stores.map((store) => [store.name, store.durability]));
  const judged = judge(figures);
  const result = { rounds, seconds, judged, residentMb: resident, durability, rowCounts, measurements };
  tell(`written to ${await writeResult("create", under, result)}`);
}

/** Starts all contenders, and sees to it that they do what they are compared for. */
async function startAll(folder: string, stack: AsyncDisposableStack, firstPlantId: number) {
  const plantstore = await startPlantstore(folder, stack);
  const fastify = await startFastify(folder, stack);
  // Its answer is as long as those of the others, and right for the first plant.
  const nginx = startNginx(folder, JSON.stringify(toPlant(firstPlantId)), stack);
  for (const contender of [plantstore, nginx, fastify]) await assertCreates(contender, firstPlantId);
  for (const store of [plantstore, fastify]) {
    await assertChecks(store);
    assertDurable(store.name, store.durability);
  }
  return { plantstore, nginx, fastify };
}
