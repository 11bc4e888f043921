// The benchmarks: npm run bench -- [suite] [flags]. One suite, one file.

import { killAll } from "./processes.ts";

type Suite = (args: readonly string[], tell: (line: string) => void) => Promise<void>;

/** Each is loaded when it is run, as one needs PostgreSQL's binaries and the other does not. */
const suites: Readonly<Record<string, () => Promise<Suite>>> = {
  console: async () => (await import("./console.ts")).console,
  create: async () => (await import("./create.ts")).create,
  operating: async () => (await import("./operating.ts")).operating,
  overload: async () => (await import("./overload.ts")).overload,
  postgres: async () => (await import("./postgres.ts")).postgres,
  transfer: async () => (await import("./transfer.ts")).transfer,
};

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

async function run(args: readonly string[]): Promise<void> {
  const named = args[0] !== undefined && !args[0].startsWith("-");
  const name = named ? args[0] : "create";
  const load = suites[name ?? ""];
  if (load === undefined)
    throw new Error(`there is no suite ${name}; there are: ${Object.keys(suites).join(", ")}`);
  const suite = await load();
  await suite(args.slice(named ? 1 : 0), tell);
}

/** Progress and complaints: standard output carries results alone. */
function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
