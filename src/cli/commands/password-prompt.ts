// Prompts for a password without echoing it.

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { host } from "../../process/host.ts";

/** Reads a line of standard input; on a terminal it asks first, and turns echo off. */
export async function promptPassword(question: string): Promise<string> {
  const { stdin } = process;
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output, terminal: stdin.isTTY });
  // With echo off, Ctrl-C is a character and not a signal.
  lines.once("SIGINT", () => {
    lines.close();
    process.kill(process.pid, "SIGINT");
  });
  // Asks only once echo is off, because typing may start as soon as the question shows.
  if (stdin.isTTY) host().error.write(question);
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
    if (stdin.isTTY) host().error.write("\n");
  }
}
