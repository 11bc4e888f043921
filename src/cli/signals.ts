// SIGINT and SIGTERM: the first one ends a command in order, a later one ends the process at once.

/** npm forwards a signal that the terminal has also sent: two within this time count as one. */
const sameSignalMs = 200;

/** Resolves with the first signal from now on. Any later one calls `onSecond`. */
export function waitForStopSignal(now: () => number, onSecond: (signal: string) => void): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const receive = (signal: string) => {
      firstAt ??= now();
      if (now() - firstAt > sameSignalMs) onSecond(signal);
      resolve(signal);
    };
    process.on("SIGTERM", receive);
    process.on("SIGINT", receive);
  });
}

/** Aborted by the first signal. The second one has its default action, which ends the process. */
export class InterruptSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #abort = () => {
    this[Symbol.dispose]();
    this.#controller.abort();
  };

  constructor() {
    process.on("SIGINT", this.#abort).on("SIGTERM", this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#abort).off("SIGTERM", this.#abort);
  }
}
