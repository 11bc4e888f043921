// npm run fuzz -- --minutes N [--seed N]: looks for inputs that the readers of bodies and of
// Authorization get wrong.

import { parseArgs } from "node:util";
import { authorizationTarget } from "./authorization-target.ts";
import { bodyTarget } from "./body-target.ts";
import { fuzz } from "./fuzzer.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
  },
});

await using authorization = await authorizationTarget();
for (const target of [bodyTarget, authorization]) {
  process.stdout.write(`${target.name}: seed ${values.seed}\n`);
  const executions = await fuzz(target, {
    seed: Number(values.seed),
    numRuns: Number.POSITIVE_INFINITY,
    interruptAfterTimeLimit: (Number(values.minutes) * 60_000) / 2,
  });
  process.stdout.write(`${target.name}: ${executions} executions, none misread\n`);
}
