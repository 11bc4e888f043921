// Where an import reads from: a file, or standard input.

import { accessSync, constants, statSync } from "node:fs";
import { OperatorError } from "../operator-error.ts";

export interface Source {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** How much of it was read, from 0 to 1; undefined where nobody knows the whole, as of a pipe. */
  readonly part: () => number | undefined;
}

/** Opens a file, or standard input for `-`. It ends early when the signal is aborted. */
export function openSource(file: string, signal: AbortSignal): Source {
  const bytes = file === "-" ? 0 : sizeOf(file);
  const reader = (file === "-" ? Bun.stdin : Bun.file(file)).stream().getReader();
  signal.addEventListener("abort", () => void reader.cancel());
  let read = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.length;
      yield value;
    }
  }
  return { chunks: chunks(), part: () => (bytes === 0 ? undefined : Math.min(1, read / bytes)) };
}

function sizeOf(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new OperatorError(`there is no file ${file}; give its path, or - for standard input`);
  if (stat.isDirectory()) throw new OperatorError(`${file} is a folder; give the path of a file`);
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new OperatorError(`${file} must not be read; give yourself the right to, or name another file`);
  }
  return stat.isFile() ? stat.size : 0;
}
