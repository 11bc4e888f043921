// strace: records the system calls of a server, or makes them fail.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { Output } from "../../support/output.ts";
import { describeIfInstalled, describeUnless, pathOf, programPath } from "../../support/programs.ts";

/** strace may be there and not be allowed to trace, as in many containers. */
const mayTrace =
  pathOf("strace") === null ||
  spawnSync(programPath("strace"), ["-f", "-o", "/dev/null", "true"]).status === 0;

/**
 * A suite that needs strace; where it is missing or may not trace, it is skipped with its reason.
 */
export function describeIfStrace(name: string, suite: () => void): void {
  if (mayTrace) describeIfInstalled("strace", name, suite);
  else describeUnless("install strace, and allow ptrace", name, suite);
}

/**
 * Runs a command with some system calls failing, such as `fsync:error=EIO:when=3`: the third in
 * each thread.
 */
export function injecting(fault: string): string[] {
  const [calls] = fault.split(":");
  const only = ["--seccomp-bpf", "-e", `trace=${calls}`, "-e", `inject=${fault}`];
  return [programPath("strace"), "-D", "-f", "-qq", "-o", "/dev/null", ...only];
}

/**
 * Lets some system calls of one running thread fail, such as `fsync:error=EIO:when=3`, until it is
 * disposed.
 */
export async function injectingInto(thread: number, fault: string): Promise<AsyncDisposable> {
  return attached([`--attach=${thread}`, `--inject=${fault}`, "-o", "/dev/null"]);
}

/**
 * Writes the calls of a running process and its threads to a file, as `tracing` does, until it is
 * disposed.
 */
export async function tracingProcess(
  pid: number,
  calls: readonly string[],
  file: string,
): Promise<AsyncDisposable> {
  return attached(["-f", `--attach=${pid}`, ...traceOptions(calls, file)]);
}

async function attached(options: readonly string[]): Promise<AsyncDisposable> {
  const strace = Bun.spawn([programPath("strace"), ...options], { stdin: "ignore", stderr: "pipe" });
  const output = new Output(strace.stderr);
  await output.until((text) => (/ attached/.test(text) ? text : undefined));
  return {
    async [Symbol.asyncDispose]() {
      strace.kill("SIGINT");
      await strace.exited;
    },
  };
}

/** The threads of a server on SQLite that write, by the names that the server gives them. */
export function storeThreads(pid: number): { readonly committing: number; readonly copying: number } {
  const folder = `/proc/${pid}/task`;
  const threadNamed = (name: string) => {
    const thread = readdirSync(folder).find(
      (thread) => readFileSync(`${folder}/${thread}/comm`, "utf8").trim() === name,
    );
    if (thread === undefined) throw new Error(`Process ${pid} has no thread ${name}`);
    return Number(thread);
  };
  return { committing: threadNamed("commit"), copying: threadNamed("checkpoint") };
}

/**
 * Runs a command with its calls written to a file: whole strings in hexadecimal, descriptors with
 * their paths.
 */
export function tracing(calls: readonly string[], file: string): string[] {
  return [programPath("strace"), "-D", "-f", "-qq", ...traceOptions(calls, file)];
}

function traceOptions(calls: readonly string[], file: string): string[] {
  const strings = ["-y", "-xx", "-s", "100000"];
  return [...strings, "-e", `trace=${calls}`, "-e", "signal=none", "-o", file];
}

export interface SystemCall {
  readonly thread: string;
  readonly name: string;
  /** The path of the descriptor that is its first argument. */
  readonly path: string;
  readonly text: string;
  readonly result: number;
}

/** The calls of a trace as they began and as they ended, in the order in which that happened. */
export function* systemCalls(trace: string): Generator<{ phase: "begins" | "ends"; call: SystemCall }> {
  const unfinished = new Map<string, string>();
  for (const line of trace.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const isUnfinished = rest.endsWith("<unfinished ...>");
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const text = resumed === null ? rest : `${unfinished.get(thread) ?? ""}${resumed[1]}`;
    if (isUnfinished) unfinished.set(thread, text.replace(/ *<unfinished \.\.\.>$/, ""));
    const [, name, path = ""] = /^(\w+)\(\d+<([^>]*)>/.exec(text) ?? [];
    if (name === undefined) continue;
    const result = Number(/= (-?\d+)[^=]*$/.exec(text)?.[1] ?? Number.NaN);
    const call = { thread, name, path: unhex(path), text, result };
    if (resumed === null) yield { phase: "begins", call };
    if (!isUnfinished) yield { phase: "ends", call };
  }
}

/** The bytes of the first string of a call. */
export function bytesOf({ text }: SystemCall): Buffer {
  const [, hex = ""] = /"((?:\\x[0-9a-f]{2})*)"/.exec(text) ?? [];
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}

function unhex(text: string): string {
  return text.includes("\\x") ? Buffer.from(text.replaceAll("\\x", ""), "hex").toString() : text;
}
