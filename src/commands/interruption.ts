// How a person or a supervisor ends a command that takes long.

/** Aborted by the first SIGINT or SIGTERM. The second one ends the process at once, as if nobody had listened. */
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
