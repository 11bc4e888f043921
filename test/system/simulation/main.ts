// npm run simulate: runs many seeds and prints those that fail, or replays one.

import { parseArgs } from "node:util";
import { mutations } from "./mutations.ts";
import { simulate } from "./simulation.ts";

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

// The simulation replaces the clock.
const now = performance.now.bind(performance);
const print = (line: string) => process.stdout.write(`${line}\n`);
const mutation = mutations[values.mutation];

if (values.help || mutation === undefined) {
  print(usage);
  process.exitCode = values.help ? 0 : 2;
} else if (values.seed !== undefined) {
  const result = await simulate(Number(values.seed), { mutation, ...(values.trace && { trace: print }) });
  print(JSON.stringify(result, null, 2));
  process.exitCode = result.violations.length === 0 ? 0 : 1;
} else {
  const end = values.minutes === undefined ? undefined : now() + Number(values.minutes) * 60_000;
  let [seeds, failed, acknowledged] = [0, 0, 0];
  while (failed < failuresMax && (end === undefined ? seeds < Number(values.seeds) : now() < end)) {
    const { seed, violations, counts } = await simulate(Number(values.from) + seeds++, { mutation });
    acknowledged += counts.acknowledged;
    if (violations.length === 0) continue;
    failed++;
    print(`seed ${seed} failed: ${violations[0]}`);
    const flag = values.mutation === "none" ? "" : ` --mutation ${values.mutation}`;
    print(`  again: npm run simulate -- --seed ${seed} --trace${flag}`);
  }
  print(`${failed} of ${seeds} seeds failed; ${acknowledged} plants acknowledged`);
  process.exitCode = failed === 0 ? 0 : 1;
}
