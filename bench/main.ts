// The benchmarks: npm run bench -- SUITE [flags]. Progress on standard error, the report on
// standard output.

import { parseArgs } from "node:util";
import { plotCreates, plotOperations } from "./plot.ts";
import { killAll } from "./processes.ts";
import { renderPage, renderReport } from "./report.ts";
import { readResults, writeResult } from "./result.ts";
import { runSuite } from "./runner.ts";
import { suites } from "./suites/index.ts";

/** wrk would use up its ids in longer runs. */
const secondsMax = 600;

const page = new URL("../docs/benchmarks.md", import.meta.url).pathname;
/** The plot of a suite, by its name. */
const plots = { create: ["creates", plotCreates], operations: ["operations", plotOperations] } as const;

let interruptedBy: string | undefined;
// For good, not once: npm passes on a signal that the whole group has got already, and the second
// must not end the benchmark before it has cleaned up.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    interruptedBy = signal;
    killAll();
  });
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  progress(`bench: ${interruptedBy === undefined ? reason : `interrupted by ${interruptedBy}`}`);
  process.exitCode = 1;
}

async function run(args: string[]): Promise<void> {
  const text = { type: "string" } as const;
  const flags = {
    rounds: text,
    seconds: text,
    plants: text,
    against: text,
    loads: text,
    subjects: text,
    output: text,
  };
  const options = { ...flags, help: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [name, ...others] = positionals;
  if (values.help || name === undefined) return print(help());
  if (name === "report") {
    const results = await readResults();
    await Bun.write(page, renderPage(results));
    for (const [suite, [name, plot]] of Object.entries(plots)) {
      const result = results.get(suite);
      const image = new URL(`../docs/images/${name}.svg`, import.meta.url).pathname;
      if (result !== undefined) await Bun.write(image, plot(result));
    }
    return;
  }
  const suite = suites.find((suite) => suite.name === name);
  if (suite === undefined || others.length > 0)
    throw new Error(`unknown suite: ${positionals.join(" ")}\n${help()}`);
  const { rounds, seconds, plants } = suite.defaults;
  if (values.plants !== undefined && plants === undefined) throw new Error(`${name} does not take --plants`);
  const result = await runSuite(suite, {
    command: `npm run bench -- ${args.join(" ")}`,
    rounds: wholeNumber("--rounds", values.rounds) ?? rounds,
    seconds: wholeNumber("--seconds", values.seconds, secondsMax) ?? seconds,
    plants: wholeNumber("--plants", values.plants) ?? plants,
    against: values.against,
    loads: new RegExp(values.loads ?? ""),
    subjects: new RegExp(values.subjects ?? ""),
    progress,
  });
  print(renderReport(suite, result));
  if (values.output !== undefined) await writeResult(values.output, result);
}

function help(): string {
  const width = Math.max(...suites.map(({ name }) => name.length));
  const lines = suites.map((suite) => {
    const numbers = Object.entries(suite.defaults).map(([flag, value]) => `--${flag} ${value}`);
    return `  ${suite.name.padEnd(width)}  ${suite.summary} Defaults: ${numbers.join(" ")}`;
  });
  return `Usage: npm run bench -- SUITE [flags]
       npm run bench -- report          writes docs/benchmarks.md and its plots from bench/results/*.json

Suites:
${lines.join("\n")}

Flags:
  --rounds N        rounds in which each subject has its turn
  --seconds S       length of each run
  --plants N        plants in a store, for large-store and sandbox
  --against COMMIT  measures the server at another commit beside this one, in the same rounds
  --loads REGEX     only the loads whose names match, such as "get|change"
  --subjects REGEX  only the subjects whose names match
  --output FILE     also writes the result as JSON
`;
}

function wholeNumber(flag: string, value: string | undefined, max = 1e9): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value) || Number(value) < 1 || Number(value) > max)
    throw new Error(`${flag} must be a whole number from 1 to ${max}, but is ${value}`);
  return Number(value);
}

function print(text: string): void {
  process.stdout.write(text);
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
