// Output of commands: results go to standard output, everything else to standard error.

import { terminalLines } from "../core/observability/terminal.ts";
import { OperatorError } from "../core/operator-error.ts";
import { host } from "./host.ts";

/** Writes one line to standard error. */
export function printError(line: string): void {
  host().error.write(`${line}\n`);
}

/** Writes lines to standard output, with backpressure. Resolves if the reader exits (EPIPE). */
export async function printLines(lines: Iterable<string>, print = printChunks): Promise<void> {
  try {
    await print(withLineEnds(lines));
  } catch (error) {
    throw outputError(error, "standard output", "try again");
  }
}

/** Like printLines, for lines that contain what clients sent. */
export function printStoredLines(lines: Iterable<string>): Promise<void> {
  return printLines(lines, printStored);
}

/** The OperatorError for a failed write to standard output; any other error unchanged. */
export function outputError(error: unknown, name: string, retry: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== "write") return error;
  // bin/plantstore and standard-streams.ts leave a closed standard output in this state.
  const advice = code === "EBADF" ? "standard output is closed: redirect it" : "free some space";
  return new OperatorError(`${name} could not be written (${code}); ${advice}, and ${retry}`);
}

/** Writes texts with their line ends to standard output. Rejects if a write fails. */
async function printChunks(texts: AsyncIterable<string> | Iterable<string>): Promise<void> {
  try {
    await host().output.write(texts);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}

/** Prints texts that clients sent. Only a terminal gets their control characters escaped. */
export function printStored(texts: AsyncIterable<string> | Iterable<string>): Promise<void> {
  return printChunks(host().output.columns === undefined ? texts : escapeAll(texts));
}

async function* escapeAll(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  for await (const text of texts) yield terminalLines(text);
}

/** Writes lines, and rejects if the reader exits before it has read them. */
export async function printAll(lines: Iterable<string>): Promise<void> {
  await host().output.write(withLineEnds(lines));
}

function withLineEnds(lines: Iterable<string>): string[] {
  return Array.from(lines, (line) => `${line}\n`);
}

/** Such as "1 plant" or "200,000 plants". */
export function formatCount(plants: number): string {
  return `${plants.toLocaleString("en")} ${plants === 1 ? "plant" : "plants"}`;
}

/** Rows of cells as lines with aligned columns. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
