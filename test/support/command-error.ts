// The error of a command line, in this process: a process of its own costs 0.1 s, and 0.3 s for serve.

import { describeError, runCommandLine } from "../../src/cli/main.ts";

export interface CommandError {
  readonly exitCode: number;
  readonly stderr: string;
}

/** What a command that fails before it prints anything ends with. Rejects if it succeeds. */
export async function commandError(args: readonly string[]): Promise<CommandError> {
  try {
    await runCommandLine(args);
  } catch (error) {
    const { exitCode, line } = describeError(error);
    return { exitCode, stderr: line === undefined ? "" : `${line}\n` };
  }
  throw new Error(`plantstore ${args.join(" ")} succeeded`);
}
