// Runs calls to a store one after the other, and lets callers take turns: whoever sends thousands
// of them waits for their own, and others for one call of each caller.

import { OperatorError } from "../operator-error.ts";

/** A call has waited too long for its turn, and did not run. */
export class TurnTimeout extends OperatorError {}

interface WaitingCall {
  readonly deadline: number;
  readonly run: () => Promise<unknown>;
  readonly response: PromiseWithResolvers<unknown>;
}

/** A queue whose callers take turns: one item of each after the other. */
export class CallerQueue<Item> {
  /** The items of each caller that has some; the next turn is that of the first. */
  readonly #waiting = new Map<string, Item[]>();

  push(caller: string, item: Item): void {
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [item]);
    else own.push(item);
  }

  shift(): Item | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [caller, items] = first;
    const item = items.shift();
    // Moved to the end: the next turn is another caller's.
    this.#waiting.delete(caller);
    if (items.length > 0) this.#waiting.set(caller, items);
    return item;
  }
}

export class Turns {
  readonly #waitMsMax: number;
  readonly #waiting = new CallerQueue<WaitingCall>();
  #isRunning = false;

  /** @param waitMsMax how long a call may wait until it runs. */
  constructor(waitMsMax: number) {
    this.#waitMsMax = waitMsMax;
  }

  /** Runs a call in the turn of its caller. Rejects with TurnTimeout, or as the call does. */
  run<Result>(caller: string, run: () => Promise<Result>): Promise<Result> {
    const response = Promise.withResolvers<unknown>();
    this.#waiting.push(caller, { deadline: performance.now() + this.#waitMsMax, run, response });
    if (!this.#isRunning) void this.#runAll();
    return response.promise as Promise<Result>;
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) {
      const { deadline, run, response } = call;
      if (performance.now() > deadline) response.reject(new TurnTimeout("the store is busy"));
      else await Promise.try(run).then(response.resolve, response.reject);
    }
    this.#isRunning = false;
  }
}
