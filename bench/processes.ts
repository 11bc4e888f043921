// The processes of a benchmark: servers that stay until they are stopped, and programs that run to their end.
// Each is ended by its own process id, also if the benchmark fails or is interrupted.

import { readFileSync } from "node:fs";
import type { CpuTime } from "./accounting.ts";

type Child = Bun.Subprocess<"ignore", "pipe", "pipe">;

/** How long a server may take to print a line or to stop. */
const serverMsMax = 60_000;

/** All that run at present, for an interruption to end. */
const running = new Set<Bun.Subprocess>();

let isInterrupted = false;

/** A server that runs until it is stopped; one that goes out of scope is killed. */
export class ServerProcess {
  readonly #child: Child;
  readonly #lines: AsyncIterator<string>;
  readonly #stderr: Promise<string>;

  constructor(command: readonly string[], env: Record<string, string> = {}) {
    this.#child = spawn(command, env);
    this.#lines = linesOf(this.#child.stdout);
    this.#stderr = this.#child.stderr.text();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Whether it has ended by itself. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What it wrote to standard error; complete when it has ended. */
  get stderr(): Promise<string> {
    return this.#stderr;
  }

  /** The next line of its standard output, such as its address. */
  async nextLine(): Promise<string> {
    const line = await within(serverMsMax, this.#lines.next(), "a server printed no address");
    if (line.done === true) throw new Error(`a server did not start: ${(await this.#stderr).trim()}`);
    return line.value;
  }

  /** Asks it to stop, as a supervisor does, and throws if it does not do so cleanly. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const exitCode = await within(serverMsMax, this.#child.exited, "a server did not stop");
    if (exitCode !== 0)
      throw new Error(`a server ended with exit code ${exitCode}: ${(await this.#stderr).trim()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}

/** Runs a program to its end and gives its standard output. Throws if it fails. */
export async function runToEnd(command: readonly string[]): Promise<string> {
  return (await runAccounted(command)).stdout;
}

/** The lines that a program prints, while it runs. Throws at their end if it failed. */
export async function* linesPrinted(command: readonly string[]): AsyncGenerator<string> {
  const child = spawn(command, {});
  const stderr = child.stderr.text();
  yield* linesOf(child.stdout);
  assertSucceeded(command, await child.exited, await stderr);
}

/** Runs a program to its end and gives the processor time that it took as well. */
export async function runAccounted(command: readonly string[]): Promise<{ stdout: string; cpu: CpuTime }> {
  const child = spawn(command, {});
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  assertSucceeded(command, exitCode, stderr);
  return { stdout, cpu: cpuOf(child) };
}

function cpuOf(child: Bun.Subprocess): CpuTime {
  const { user = 0, system = 0 } = child.resourceUsage()?.cpuTime ?? {};
  return { userUs: Number(user), systemUs: Number(system) };
}

/** What a program took from its start to its end. */
export interface Took {
  readonly seconds: number;
  /** Its own processor time; what works for it elsewhere, such as a database, is not in it. */
  readonly cpu: CpuTime;
  /** The largest resident memory. */
  readonly peakBytes: number;
}

/** How often the memory of a program is read. */
const peakEveryMs = 5;

/** Runs a program to its end with its standard output in a file. Throws if it fails. */
export async function runTimed(command: readonly string[], output: string): Promise<Took> {
  if (isInterrupted) throw new Error("interrupted");
  const start = performance.now();
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? "" },
    stdin: "ignore",
    stdout: Bun.file(output),
    stderr: "pipe",
    onExit: () => void running.delete(child),
  });
  running.add(child);
  const ended = child.exited.then(() => performance.now());
  const stderr = child.stderr.text();
  let peakBytes = 0;
  // While it runs: what the kernel tells afterwards counts the memory that its process had before it was this program.
  while (child.exitCode === null && child.signalCode === null) {
    peakBytes = Math.max(peakBytes, peakBytesOf(child.pid));
    await Bun.sleep(peakEveryMs);
  }
  const seconds = ((await ended) - start) / 1_000;
  if (child.exitCode !== 0)
    throw new Error(`${command[0]} ended with exit code ${child.exitCode}: ${(await stderr).trim()}`);
  return { seconds, cpu: cpuOf(child), peakBytes };
}

function peakBytesOf(pid: number): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kibibytes ?? 0) * 1_024;
  } catch {
    // It has just ended.
    return 0;
  }
}

function assertSucceeded(command: readonly string[], exitCode: number, stderr: string): void {
  if (exitCode !== 0) throw new Error(`${command[0]} ended with exit code ${exitCode}: ${stderr.trim()}`);
}

/** Kills all that run, upon which everything that waits for them fails, and lets nothing start any more. */
export function killAll(): void {
  isInterrupted = true;
  for (const child of running) child.kill("SIGKILL");
}

/** The environment holds nothing of the caller's but PATH, so that no setting of theirs is measured. */
function spawn(command: readonly string[], env: Record<string, string>): Child {
  if (isInterrupted) throw new Error("interrupted");
  const child: Child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    onExit: () => void running.delete(child),
  });
  running.add(child);
  return child;
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}

async function within<Value>(ms: number, promise: Promise<Value>, failure: string): Promise<Value> {
  const overdue = Promise.withResolvers<never>();
  const timer = setTimeout(() => overdue.reject(new Error(`${failure} within ${ms / 1_000} seconds`)), ms);
  try {
    return await Promise.race([promise, overdue.promise]);
  } finally {
    clearTimeout(timer);
  }
}
