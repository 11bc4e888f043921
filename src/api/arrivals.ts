// The time that bodies may take to arrive, kept with one timer for all of them.

export const late = Symbol("late");

/** A body is given up when its time is over, or at most an eighth of it later. */
const ticksMax = 8;

interface Awaited {
  /** The tick in which it began. */
  readonly tick: number;
  readonly giveUp: () => void;
}

export class Arrivals {
  readonly #tickMs: number;
  /** In the order in which they began: the first is the next to be late. */
  readonly #awaited = new Set<Awaited>();
  #tick = 0;
  #timer: Timer | undefined;

  constructor(msMax: number) {
    this.#tickMs = msMax / ticksMax;
  }

  /** What arrives, or `late`. A timer for each body cost up to 8 % of the creates at 256 connections. */
  inTime<T>(arriving: Promise<T>): Promise<T | typeof late> {
    return new Promise((resolve, reject) => {
      const awaited = { tick: this.#tick, giveUp: () => resolve(late) };
      this.#awaited.add(awaited);
      this.#timer ??= setInterval(() => this.#look(), this.#tickMs).unref();
      arriving.then(
        (value) => {
          this.#awaited.delete(awaited);
          resolve(value);
        },
        (error) => {
          this.#awaited.delete(awaited);
          reject(error);
        },
      );
    });
  }

  #look(): void {
    this.#tick++;
    for (const awaited of this.#awaited) {
      if (this.#tick - awaited.tick <= ticksMax) break;
      this.#awaited.delete(awaited);
      awaited.giveUp();
    }
    if (this.#awaited.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
