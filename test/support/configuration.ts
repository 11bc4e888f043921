// The effective configuration, as `plantstore config` prints it.

import { type CommandResult, run } from "./server.ts";

interface Row {
  readonly name: string;
  readonly value: unknown;
  readonly source: string;
}

/** The rows of `plantstore config --json`, by the names of the settings. */
export async function configured(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<ReadonlyMap<string, { value: unknown; source: string }>> {
  const { exitCode, stdout, stderr } = await run(["config", "--json", ...args], env);
  if (exitCode !== 0) throw new Error(stderr);
  const rows: Row[] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return new Map(rows.map(({ name, value, source }) => [name, { value, source }]));
}

/** What `plantstore config` ends with where it was called wrongly: exit code 2 and one line, which is this. */
export function refusedWith(line: string): CommandResult {
  return { exitCode: 2, stdout: "", stderr: `plantstore: ${line}\n` };
}
