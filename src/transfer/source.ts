// Where an import reads from: a file, or standard input.

import { accessSync, constants, fstatSync, type Stats, statSync } from "node:fs";
import { OperatorError } from "../operator-error.ts";

/** Who may read a source. */
export interface SourceAccess {
  /** Its permissions, of which only its owner's are of use where it is no file. */
  readonly mode: number;
  readonly group: number;
}

/** To be disposed of in the end: a pipe whose other end stays open would keep the process. */
export interface Source extends Disposable {
  readonly access: SourceAccess;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** How much of it was read, from 0 to 1; undefined where nobody knows the whole, as of a pipe. */
  readonly part: () => number | undefined;
}

const standardInput = 0;

/** Opens a file, or standard input for `-`. It ends early when the signal is aborted. */
export function openSource(file: string, signal: AbortSignal): Source {
  const stat = file === "-" ? fstatSync(standardInput) : statOf(file);
  const bytes = file === "-" || !stat.isFile() ? 0 : stat.size;
  const reader = (file === "-" ? Bun.stdin : Bun.file(file)).stream().getReader();
  // Of a source that could not be read there is nothing left to cancel, and whoever read it has been told.
  const cancel = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel);
  let read = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw unreadable(file, error);
      });
      if (done) return;
      read += value.length;
      yield value;
    }
  }
  return {
    access: { mode: stat.isFile() ? stat.mode : 0o600, group: stat.gid },
    chunks: chunks(),
    part: () => (bytes === 0 ? undefined : Math.min(1, read / bytes)),
    [Symbol.dispose]: cancel,
  };
}

function unreadable(file: string, { code, message }: NodeJS.ErrnoException): OperatorError {
  return new OperatorError(
    `${file} could not be read to its end (${code ?? message}); see to it, and the same command goes on`,
  );
}

function statOf(file: string): Stats {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new OperatorError(`there is no file ${file}; give its path, or - for standard input`);
  if (stat.isDirectory()) throw new OperatorError(`${file} is a folder; give the path of a file`);
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new OperatorError(`${file} must not be read; give yourself the right to, or name another file`);
  }
  return stat;
}
