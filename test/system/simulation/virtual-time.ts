// Time that passes when the simulation says so. While it is installed, every timer and clock of the process is one
// of its own: the code under test, node-postgres included, runs as it is, and in the same order for the same seed.

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** The turn of the real event loop, in which all that waits for no time has its turn. */
const realTurn = setImmediate;

export class VirtualTime implements Disposable {
  /** What the system's clock is ahead of its true time by: it may jump. */
  wallAheadMs = 0;
  #now = 0;
  #order = 0;
  #due: Due[] = [];
  readonly #cancelled = new Set<number>();
  readonly #restore: () => void;

  constructor() {
    this.#restore = this.#install();
  }

  /** Milliseconds since the beginning. */
  readonly now = (): number => this.#now;

  /** Milliseconds since the epoch, by the system's clock. */
  readonly wallNow = (): number => Math.floor(1_800_000_000_000 + this.#now + this.wallAheadMs);

  /** Does something later. What is due at one moment runs in the order in which it was asked for. */
  after(ms: number, run: () => void): number {
    const due = { at: this.#now + Math.max(0, ms), order: ++this.#order, run };
    this.#due.splice(this.#resolvedPath(due), 0, due);
    return due.order;
  }

  cancel(order: number): void {
    this.#cancelled.add(order);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Lets time pass until a promise is settled. Rejects if nothing is due any more, or after too much of it. */
  async until<T>(promise: Promise<T>, msMax: number): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    const end = this.#now + msMax;
    for (;;) {
      await new Promise<void>((resolve) => realTurn(resolve));
      if (isSettled) return promise;
      const due = this.#due.pop();
      if (due === undefined) throw new Error("All tasks wait, and no timer is due");
      if (due.at > end) throw new Error(`It is not done after ${msMax} ms`);
      this.#now = due.at;
      if (!this.#cancelled.delete(due.order)) due.run();
    }
  }

  [Symbol.dispose](): void {
    this.#restore();
  }

  /** Sorted with the next one last. */
  #resolvedPath({ at }: Due): number {
    let [low, high] = [0, this.#due.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#due[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #install(): () => void {
    const real = [
      replace(globalThis, "setTimeout", (run: Callback, ms = 0, ...args: unknown[]) => {
        const order = this.after(ms, () => run(...args));
        return new VirtualTimer(() => this.cancel(order));
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
      for (const putBack of real) putBack();
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
    return new VirtualTimer(() => this.cancel(order));
  }
}

type Callback = (...args: unknown[]) => void;

/** What a program has of a timer. No process is kept alive by one that is virtual. */
class VirtualTimer {
  readonly stop: () => void;

  constructor(stop: () => void) {
    this.stop = stop;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Puts something in the place of a function, and gives what puts the function back. */
function replace(owner: object, name: string, replacement: unknown): () => void {
  const slots = owner as Record<string, unknown>;
  const original = slots[name];
  slots[name] = replacement;
  return () => {
    slots[name] = original;
  };
}
