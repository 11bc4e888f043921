// The processes of a benchmark: servers, and programs that run to their end. Each is ended by its
// own process id, also if the benchmark fails or is interrupted.

import { Output } from "../test/support/output.ts";
import type { CpuTime } from "./cpu-usage.ts";

/** How long a server may take to stop. */
const stopMsMax = 60_000;

const running = new Set<Bun.Subprocess>();
let isInterrupted = false;

/** A server that runs until it is stopped; killed when it goes out of scope. */
export class ServerProcess implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #stderr: Output;

  constructor(command: readonly string[], options: SpawnOptions = {}) {
    this.#child = spawn(command, options);
    // Drained, so that a full pipe does not block the server.
    new Output(this.#child.stdout);
    this.#stderr = new Output(this.#child.stderr);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Its standard error, once it has ended. */
  get stderr(): Promise<string> {
    return this.#stderr.ended;
  }

  /** Asks it to stop, as a supervisor does, and throws if it does not do so cleanly. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), stopMsMax);
    const exitCode = await this.#child.exited;
    clearTimeout(timer);
    // 143 is SIGTERM for a program that does not handle it, which a baseline need not.
    if (exitCode !== 0 && exitCode !== 143)
      throw new Error(`a server ended with exit code ${exitCode}: ${(await this.stderr).trim()}`);
  }

  /** Kills it, and returns its processor time. */
  async kill(): Promise<CpuTime> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
    return processorTime(this.#child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

export interface Ended {
  readonly stdout: string;
  readonly seconds: number;
  /** Its own processor time, without that of other processes that it uses, such as a database. */
  readonly cpu: CpuTime;
}

interface SpawnOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a program to its end. Throws if it fails. */
export async function runProgram(command: readonly string[], options: SpawnOptions = {}): Promise<Ended> {
  const start = performance.now();
  const child = spawn(command, options);
  const ended = child.exited.then(() => performance.now());
  const texts = Promise.all([child.stdout.text(), child.stderr.text()]);
  const seconds = ((await ended) - start) / 1_000;
  const [stdout, stderr] = await texts;
  if (child.exitCode !== 0)
    throw new Error(`${command.join(" ")} ended with exit code ${child.exitCode}: ${stderr.trim()}`);
  return { stdout, seconds, cpu: processorTime(child) };
}

/** The result of an ended process. */
function processorTime(child: Bun.Subprocess): CpuTime {
  const { user = 0, system = 0 } = child.resourceUsage()?.cpuTime ?? {};
  return { userUs: Number(user), systemUs: Number(system) };
}

/** Kills all running processes, which rejects all waits for them; no new one can start. */
export function killAll(): void {
  isInterrupted = true;
  for (const child of running) child.kill("SIGKILL");
}

/** The version that a program prints, wherever and with whatever exit code: wrk's is 1. */
export function printedVersion(command: readonly string[], cwd = "."): string {
  const { stdout, stderr } = Bun.spawnSync([...command], { cwd });
  return /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "unknown";
}

/** Only PATH and HOME are passed on, so that no setting of the caller is measured. */
function spawn(command: readonly string[], { env, cwd }: SpawnOptions) {
  if (isInterrupted) throw new Error("interrupted");
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    onExit: () => void running.delete(child),
  });
  running.add(child);
  return child;
}
