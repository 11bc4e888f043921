// A line that an operator types and that nobody shall see.

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Reads a line of standard input. From a terminal it asks for it first, and shows nothing of what is typed. */
export async function readSecretLine(question: string): Promise<string> {
  const { stdin, stderr } = process;
  const lines = createInterface({ input: stdin, output: nowhere(), terminal: stdin.isTTY });
  // Only now does the terminal show nothing: whoever has seen the question may type at once.
  if (stdin.isTTY) stderr.write(question);
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
    if (stdin.isTTY) stderr.write("\n");
  }
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
