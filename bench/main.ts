// The benchmarks: npm run bench -- [suite] [flags]. One suite, one file.

import { create } from "./create.ts";
import { killAll } from "./processes.ts";

type Suite = (args: readonly string[], tell: (line: string) => void) => Promise<void>;

const suites: Readonly<Record<string, Suite>> = { create };

let stoppedBy: string | undefined;
// For good, not once: npm passes on a signal that the terminal has sent to the whole group already, and the second
// must not end the benchmark before it has cleaned up.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    stoppedBy = signal;
    killAll();
  });
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  tell(`bench: ${stoppedBy === undefined ? reason : `stopped by ${stoppedBy}`}`);
  process.exitCode = 1;
}

function run(args: readonly string[]): Promise<void> {
  const named = args[0] !== undefined && !args[0].startsWith("-");
  const name = named ? args[0] : "create";
  const suite = suites[name ?? ""];
  if (suite === undefined)
    throw new Error(`there is no suite ${name}; there are: ${Object.keys(suites).join(", ")}`);
  return suite(args.slice(named ? 1 : 0), tell);
}

/** Progress and complaints: standard output carries results alone. */
function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
