// Runs a command in the process of the test, if the process is not the subject.

import { EventEmitter } from "node:events";
import { describeError, runCommandLine } from "../../src/cli/main.ts";
import { type CommandHost, onHost } from "../../src/process/host.ts";
import { Output } from "./output.ts";

export class InProcessCommand {
  readonly stdout = new Output();
  readonly stderr = new Output();
  /** The exit code, once the command has ended. */
  readonly exited: Promise<number>;
  readonly #signals = new EventEmitter();
  readonly #input: TransformStream<Uint8Array, Uint8Array> | undefined;
  #exitCode = 0;

  /**
   * Starts a command.
   *
   * @param env the whole environment that it sees.
   * @param input its standard input; one that stays open until endInput() if undefined.
   */
  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}, input?: string) {
    if (input === undefined) this.#input = new TransformStream();
    const exiting = Promise.withResolvers<void>();
    const error = { isTTY: false, write: (text: string) => this.stderr.add(text) };
    const host: CommandHost = {
      environment: env,
      output: {
        isFile: false,
        columns: undefined,
        write: async (texts) => {
          for await (const text of texts) this.stdout.add(text);
        },
      },
      error,
      log: { stream: error, end: async () => true },
      signals: this.#signals,
      openInput: () => this.#input?.readable ?? new Blob([input ?? ""]).stream(),
      setExitCode: (code) => {
        this.#exitCode = code;
      },
      exit: (code = this.#exitCode) => {
        this.#exitCode = code;
        exiting.resolve();
      },
    };
    const running = onHost(host, () => runCommandLine(args)).catch((failure) => {
      const { exitCode, line } = describeError(failure);
      if (line !== undefined) error.write(`${line}\n`);
      this.#exitCode = exitCode;
    });
    this.exited = Promise.race([running, exiting.promise]).then(() => {
      this.stdout.end();
      this.stderr.end();
      return this.#exitCode;
    });
  }

  /** Sends a signal. Throws for SIGKILL, which only a real process obeys. */
  kill(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL") throw new Error("A command in the process of the test cannot be killed");
    this.#signals.emit(signal, signal);
  }

  async endInput(): Promise<void> {
    await this.#input?.writable.close();
  }
}
