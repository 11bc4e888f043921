// npm run simulate: runs many seeds and prints those that fail, or replays one.

import { parseArgs } from "node:util";
import { mutations } from "./mutations.ts";
import { type Result, type SimulationOptions, simulate } from "./simulation.ts";

const usage = `npm run simulate -- [--seeds N | --minutes N] [--from S]   run many seeds, 1,000 by default
npm run simulate -- --seed S [--trace]                    replay one, and print its events
npm run simulate -- … --mutation NAME                     with a planted bug: ${Object.keys(mutations).join(", ")}`;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    minutes: { type: "string" },
    from: { type: "string", default: "1" },
    mutation: { type: "string", default: "none" },
    trace: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
/** The run ends after this many failed seeds. */
const failuresMax = 20;

const now = performance.now.bind(performance);
const print = (line: string) => process.stdout.write(`${line}\n`);
const mutation = mutations[values.mutation];

if (values.help || mutation === undefined) {
  print(usage);
  process.exitCode = values.help ? 0 : 2;
} else if (values.seed !== undefined) {
  const result = await simulate(Number(values.seed), {
    ...mutation,
    ...(values.trace ? { trace: print } : {}),
  });
  print(JSON.stringify(result, null, 2));
  process.exitCode = result.violations.length === 0 ? 0 : 1;
} else await runMany(mutation);

async function runMany(options: SimulationOptions): Promise<void> {
  const startedAt = now();
  const isOver = (run: number) =>
    values.minutes === undefined
      ? run >= Number(values.seeds)
      : now() - startedAt > Number(values.minutes) * 60_000;
  const totals = { seeds: 0, acknowledged: 0, conflict: 0, refused: 0, unknown: 0, kills: 0, faults: 0 };
  let failed = 0;
  for (let run = 0; !isOver(run) && failed < failuresMax; run++) {
    const result = await simulate(Number(values.from) + run, options);
    add(totals, result);
    if (result.violations.length === 0) continue;
    failed++;
    print(`seed ${result.seed} failed: ${result.violations[0]}`);
    print(`  again: npm run simulate -- --seed ${result.seed} --trace${replayedMutation()}`);
  }
  print(
    `${failed} of ${totals.seeds} seeds failed; ${totals.acknowledged} acknowledged, ${totals.conflict} conflicts, ` +
      `${totals.refused} refused, ${totals.unknown} with unknown result; ${totals.faults} faults, ${totals.kills} kills`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

function add(totals: Record<string, number>, { counts, kills, faults }: Result): void {
  const all = { seeds: 1, ...counts, kills, faults };
  for (const [name, count] of Object.entries(all)) totals[name] = (totals[name] ?? 0) + count;
}

function replayedMutation(): string {
  return values.mutation === "none" ? "" : ` --mutation ${values.mutation}`;
}
