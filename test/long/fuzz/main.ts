// npm run fuzz -- --minutes N [--seed N]: looks for bodies that the server reads wrongly.

import { parseArgs } from "node:util";
import { checkBody, words } from "./body.ts";
import { fuzz } from "./fuzzer.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
  },
});
process.stdout.write(`seed ${values.seed}\n`);
const executions = await fuzz(checkBody, words, {
  seed: Number(values.seed),
  numRuns: Number.POSITIVE_INFINITY,
  interruptAfterTimeLimit: Number(values.minutes) * 60_000,
});
process.stdout.write(`${executions} bodies, none misread\n`);
