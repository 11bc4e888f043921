// Starts the process of a sandbox, reads its output, and ends it.

import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
// Imported, since test runners replace the global functions with fake timers.
import { clearTimeout, setTimeout } from "node:timers";

/** The end of the output that is kept for the messages of errors, in UTF-16 code units. */
const outputCodeUnitsMax = 65_536;

/** How long an end by the end of standard input may take before the process is killed. */
const endMsMax = 5_000;

export class SandboxProcess {
  /** Resolves when the process has ended, or could not be started, and its output was read. */
  readonly ended: Promise<void>;
  /** Resolves when its addresses are printed. */
  readonly ready: Promise<void>;
  /** Its standard output: its addresses. */
  printed = "";
  #child: ChildProcess;
  #output = "";
  #end: string | undefined;

  /** @param log Called with each line of its standard error. */
  constructor(executable: string, args: readonly string[], log: (line: string) => void) {
    this.#child = spawn(executable, args, { stdio: "pipe", env: environment() });
    this.ended = new Promise((resolve) => {
      this.#child.once("error", ({ message }) => {
        this.#end ??= message;
        // No other event follows if the process did not start.
        if (this.#child.pid === undefined) resolve();
      });
      this.#child.once("close", (code, signal) => {
        this.#end ??= signal ?? `exit code ${code}`;
        resolve();
      });
    });
    // The process has ended; its end is reported by itself.
    this.#child.stdin?.on("error", () => undefined);
    this.ready = new Promise((resolve) => {
      this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        this.printed += text;
        if (/^Control .*\n/m.test(this.printed)) resolve();
      });
    });
    this.#readLines(log);
  }

  /** The exit code, the signal, or why it did not start. Undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The end of what it wrote to its standard error. */
  get output(): string {
    return this.#output;
  }

  /** Lets the caller's process end while this one runs, which then ends as well. */
  unref(): void {
    this.#child.unref();
    for (const stream of this.#child.stdio) (stream as Socket | null)?.unref?.();
  }

  /** Ends the process by closing its standard input; kills it if that takes too long. */
  async stop(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    const timer = setTimeout(() => void this.kill(), endMsMax);
    await this.ended;
    clearTimeout(timer);
  }

  /** Ends the process at once. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    // Otherwise a child of it, such as that of a script, may keep the pipes open.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    await this.ended;
  }

  #readLines(log: (line: string) => void): void {
    let rest = "";
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#output = (this.#output + text).slice(-outputCodeUnitsMax);
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) log(line);
    });
  }
}

/** Leaves out the settings of other servers: a sandbox has the options that it is given. */
function environment(): NodeJS.ProcessEnv {
  const isSetting = (name: string) => name.startsWith("PLANTSTORE_");
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
}
