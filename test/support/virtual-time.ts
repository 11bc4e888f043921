// Virtual time: replaces every timer and clock of the process, so that unchanged code, also
// node-postgres, runs in the same order for the same seed.

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** One iteration of the real event loop, in which everything runs that waits for no timer. */
const realSetImmediate = setImmediate;

export class VirtualTime implements Disposable {
  /** How far the system clock is ahead; it may jump. */
  wallAheadMs = 0;
  #now = 0;
  #order = 0;
  #due: Due[] = [];
  readonly #cancelled = new Set<number>();
  readonly #restore: () => void;

  constructor() {
    this.#restore = this.#install();
  }

  /** Milliseconds since the start. */
  readonly now = (): number => this.#now;

  /** Milliseconds since the epoch, by the system clock. */
  readonly wallNow = (): number => Math.floor(1_800_000_000_000 + this.#now + this.wallAheadMs);

  /** Runs a function later. Functions due at the same time run in the order of the calls. */
  after(ms: number, run: () => void): number {
    const due = { at: this.#now + Math.max(0, ms), order: ++this.#order, run };
    // The list is sorted, with the next one last.
    const index = this.#due.findIndex(({ at }) => at <= due.at);
    this.#due.splice(index === -1 ? this.#due.length : index, 0, due);
    return due.order;
  }

  cancel(order: number): void {
    this.#cancelled.add(order);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Advances time until a promise is settled. Rejects if nothing is due, or after `msMax`. */
  async until<T>(promise: Promise<T>, msMax: number): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    const end = this.#now + msMax;
    for (;;) {
      await new Promise<void>((resolve) => realSetImmediate(resolve));
      if (isSettled) return promise;
      const due = this.#due.pop();
      if (due === undefined) throw new Error("Deadlock: no timer is due");
      if (due.at > end) throw new Error(`It is not done after ${msMax} ms`);
      this.#now = due.at;
      if (!this.#cancelled.delete(due.order)) due.run();
    }
  }

  [Symbol.dispose](): void {
    this.#restore();
  }

  #install(): () => void {
    const real = [
      replace(globalThis, "setTimeout", (run: Callback, ms = 0, ...args: unknown[]) => {
        const order = this.after(ms, () => run(...args));
        return virtualTimer(() => this.cancel(order));
      }),
      replace(globalThis, "setInterval", (run: Callback, ms: number) => this.#every(ms, run)),
      replace(globalThis, "setImmediate", (run: Callback, ...args: unknown[]) =>
        this.after(0, () => run(...args)),
      ),
      replace(globalThis, "clearTimeout", (timer: VirtualTimer | undefined) => timer?.stop()),
      replace(globalThis, "clearInterval", (timer: VirtualTimer | undefined) => timer?.stop()),
      replace(globalThis.performance, "now", this.now),
      replace(globalThis.Date, "now", this.wallNow),
      replace(Bun, "sleep", (ms: number) => this.sleep(ms)),
    ];
    return () => {
      for (const restore of real) restore();
    };
  }

  #every(ms: number, run: Callback): VirtualTimer {
    let order = 0;
    const again = () => {
      order = this.after(ms, () => {
        again();
        run();
      });
    };
    again();
    return virtualTimer(() => this.cancel(order));
  }
}

type Callback = (...args: unknown[]) => void;

interface VirtualTimer {
  readonly stop: () => void;
  readonly ref: () => VirtualTimer;
  readonly unref: () => VirtualTimer;
}

/** The timer object that callers get. It does not keep the process alive. */
function virtualTimer(stop: () => void): VirtualTimer {
  const timer: VirtualTimer = { stop, ref: () => timer, unref: () => timer };
  return timer;
}

/** Replaces a function, and returns a function that restores it. */
function replace(owner: object, name: string, replacement: unknown): () => void {
  const slots = owner as Record<string, unknown>;
  const original = slots[name];
  slots[name] = replacement;
  return () => {
    slots[name] = original;
  };
}
