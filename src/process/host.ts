// Gives commands their process: its streams, signals and exit. Tests run commands in their own
// process, on another host.

import { AsyncLocalStorage } from "node:async_hooks";
import { fstatSync } from "node:fs";
import type { LogOutput } from "./log/log.ts";

interface StandardOutput {
  /** Whether it is a file. */
  readonly isFile: boolean;
  /** The columns of a terminal; undefined if it is none. */
  readonly columns: number | undefined;
  /** Writes texts, with backpressure. Rejects with the error of a failed write. */
  write(texts: AsyncIterable<string> | Iterable<string>): Promise<void>;
}

/** Standard error. Its reader may exit. */
interface StandardError {
  readonly isTTY: boolean;
  write(text: string): unknown;
}

export interface Signals {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

export interface CommandHost {
  readonly environment: NodeJS.ProcessEnv;
  readonly output: StandardOutput;
  readonly error: StandardError;
  /** The log of a server; standard error if undefined. */
  readonly log: LogOutput | undefined;
  readonly signals: Signals;
  /** Opens standard input. */
  openInput(): ReadableStream<Uint8Array>;
  /** Sets the exit code of a command that ends without an error. */
  setExitCode(code: number): void;
  /** Ends the process at once. */
  exit(code?: number): void;
}

let standardError: NodeJS.WriteStream | undefined;

/** Made on first use: process.stdout and process.stderr would slow each start. */
const processHost: CommandHost = {
  environment: process.env,
  output: {
    get isFile() {
      return fstatSync(1).isFile();
    },
    get columns() {
      return isCharacterDevice(1) && process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
    },
    async write(texts) {
      const output = Bun.stdout.writer({ highWaterMark: 2 ** 16 });
      for await (const text of texts) {
        const written = output.write(text);
        // Otherwise nobody handles its error.
        if (typeof written !== "number") await written;
        // Bun loses the error of a write that it makes by itself while the next text is awaited.
        await output.flush();
      }
      await output.end();
    },
  },
  error: {
    get isTTY() {
      return isCharacterDevice(2) && openError().isTTY;
    },
    write: (text) => openError().write(text),
  },
  log: undefined,
  signals: process,
  openInput: () => Bun.stdin.stream(),
  setExitCode(code) {
    process.exitCode = code;
  },
  exit: (code) => process.exit(code),
};

const hosts = new AsyncLocalStorage<CommandHost>();

/** The host of the command that calls this. */
export function host(): CommandHost {
  return hosts.getStore() ?? processHost;
}

/** Runs a command on another host than this process. */
export function onHost<Result>(other: CommandHost, command: () => Promise<Result>): Promise<Result> {
  return hosts.run(other, command);
}

function openError(): NodeJS.WriteStream {
  standardError ??= process.stderr.on("error", () => undefined);
  return standardError;
}

function isCharacterDevice(fd: number): boolean {
  return fstatSync(fd).isCharacterDevice();
}
