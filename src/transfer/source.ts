// Opens the source of an import: a file or standard input.

import { accessSync, constants, fstatSync, type Stats, statSync } from "node:fs";
import { OperatorError } from "../base/operator-error.ts";

/** Must be disposed: a pipe that its writer keeps open would keep the process running. */
export interface Source extends Disposable {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The part that was read, from 0 to 1; undefined if the size is not known, as for a pipe. */
  readonly fractionRead: () => number | undefined;
}

const standardInput = 0;

/** Opens a file, or standard input for `-`. The stream ends when the signal is aborted. */
export function openSource(
  file: string,
  signal: AbortSignal,
  openInput: () => ReadableStream<Uint8Array> = () => Bun.stdin.stream(),
): Source {
  const stat = file === "-" ? fstatSync(standardInput) : statOf(file);
  const bytes = file === "-" || !stat.isFile() ? 0 : stat.size;
  const reader = (file === "-" ? openInput() : Bun.file(file).stream()).getReader();
  // Canceling a stream that failed rejects with the error that its reader already has.
  const cancel = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel);
  let read = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { done, value } = await reader.read().catch(({ code, message }: NodeJS.ErrnoException) => {
        throw new OperatorError(
          `${file} could not be read to its end (${code ?? message}); correct that, and run the same command again to continue`,
        );
      });
      if (done) return;
      read += value.length;
      yield value;
    }
  }
  return {
    chunks: chunks(),
    fractionRead: () => (bytes === 0 ? undefined : Math.min(1, read / bytes)),
    [Symbol.dispose]: cancel,
  };
}

function statOf(file: string): Stats {
  let stat: Stats;
  try {
    accessSync(file, constants.R_OK);
    stat = statSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      code === "ENOENT"
        ? `there is no file ${file}; give its path, or - for standard input`
        : `${file} is not readable (${code}); change the permissions of the file and its folder, or name another file`,
    );
  }
  if (stat.isFile() || stat.isFIFO()) return stat;
  throw new OperatorError(
    `${file} is neither a file nor a pipe; give the path of one, or - for standard input`,
  );
}
