// Prints the output of commands: results go to standard output, everything else to standard error.

import { errorMessage, OperatorError } from "../base/operator-error.ts";
import { printable } from "../base/terminal.ts";
import type { Collection, Words } from "../contract/contract.ts";
import { nameCommands } from "./command-name.ts";
import { host } from "./host.ts";

/** Writes a line to standard error. Ids and other texts of clients in it move no cursor. */
export function printError(line: string): void {
  host().error.write(`${terminalLines(nameCommands(line))}\n`);
}

type Texts = AsyncIterable<string> | Iterable<string>;

/** Writes lines to standard output, with backpressure. Resolves if the reader exits (EPIPE). */
export function printLines(lines: Iterable<string>): Promise<void> {
  return print(withLineEnds(lines));
}

/** Like printLines, for lines that contain what clients sent. */
export function printStoredLines(lines: Iterable<string>): Promise<void> {
  return printStored(withLineEnds(lines));
}

/** Prints texts that clients sent. Only a terminal gets their control characters escaped. */
export function printStored(texts: Texts, ...names: [name?: string, retry?: string]): Promise<void> {
  return print(host().output.columns === undefined ? texts : escapeAll(texts), ...names);
}

/** Writes texts with their line ends. Rejects with an OperatorError if a write fails. */
async function print(texts: Texts, name = "standard output", retry = "try again"): Promise<void> {
  try {
    await host().output.write(texts);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === "EPIPE") return;
    if (syscall !== "write") throw error;
    throw unwritten(name, code, retry);
  }
}

/**
 * Prints lines with a token, and stores it then, so that nothing has to be undone if it cannot be
 * printed. Rejects with an OperatorError that says whether the token works.
 *
 * @param store rejects with an OperatorError if the token was not stored.
 */
export async function issueToken<Stored>(
  lines: readonly string[],
  store: () => Promise<Stored>,
): Promise<Stored> {
  // Rejects if the reader exits, too, which printLines ignores.
  const written = host().output.write(withLineEnds(lines));
  await written.catch((error) => {
    throw new OperatorError(
      `the token could not be printed (${error.code ?? error.message}), and was not issued; redirect standard output, and try again`,
    );
  });
  return store().catch((error) => {
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(`the token that was printed is void: ${errorMessage(error)}`);
  });
}

/** The error of an output that could not be written. */
export function unwritten(name: string, code: string | undefined, retry: string): OperatorError {
  return new OperatorError(`${name} could not be written (${code}); free some space, and ${retry}`);
}

/** Lines from clients, for a terminal. Escapes are those of JSON, so it keeps its meaning. */
export function terminalLines(text: string): string {
  return text.replace(/[^\n\t]+/g, (part) => printable(part));
}

/** Whether text has colours: on a terminal, unless it is dumb or NO_COLOR is set (no-color.org). */
export function hasColours(onTerminal: boolean, { NO_COLOR = "", TERM }: NodeJS.ProcessEnv): boolean {
  return onTerminal && NO_COLOR === "" && TERM !== "dumb";
}

async function* escapeAll(texts: Texts): AsyncGenerator<string> {
  for await (const text of texts) yield terminalLines(text);
}

function withLineEnds(lines: Iterable<string>): string[] {
  return Array.from(lines, (line) => `${line}\n`);
}

/** Such as "1 plant" or "200,000 plants". */
export function formatCount(count: number, { one, many }: Pick<Words, "one" | "many">): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Such as "12 parcels, 3 couriers", from the number of each table. */
export function formatCounts(
  collections: readonly Pick<Collection, "path" | "words">[],
  counts: ReadonlyMap<string, number>,
): string {
  return collections.map(({ path, words }) => formatCount(counts.get(path) ?? 0, words)).join(", ");
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
