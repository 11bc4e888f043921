// A line that an operator types and that nobody shall see.

import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import { OperatorError } from "./operator-error.ts";

/** Reads a line of standard input. From a terminal it asks for it first, and shows nothing of what is typed. */
export async function promptPassword(question: string): Promise<string> {
  const { stdin, stderr } = process;
  const lines = createInterface({ input: stdin, output: nowhere(), terminal: stdin.isTTY });
  // Only now does the terminal show nothing: whoever has seen the question may type at once.
  if (stdin.isTTY) stderr.write(question);
  try {
    return await Promise.race([firstLine(lines), unreadable(stdin)]);
  } finally {
    lines.close();
    if (stdin.isTTY) stderr.write("\n");
  }
}

async function firstLine(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) return line;
  return "";
}

/** Rejects where the stream cannot be read; readline itself takes that for its end. */
function unreadable(stream: Readable): Promise<never> {
  return new Promise((_, reject) => {
    stream.once("error", ({ code, message }: NodeJS.ErrnoException) =>
      reject(
        new OperatorError(
          `standard input could not be read (${code ?? message}); redirect it from a file or a pipe`,
        ),
      ),
    );
  });
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
