// Reads single plants in the thread that asks for them, as the way to another thread takes ten times as
// long as a plant that is in memory. Those that are on the disk, or large, are left to the other thread.

import type { Clock } from "../../base/server-event.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { ReadConnection } from "../shared/page.ts";

/** A read that takes longer is slow: 32 small plants in memory take 0.15. */
const quickMs = 1;

/** How many plants are read together. */
const nearMax = 32;

/** How long all reads are left to the other thread when even one plant takes too long. */
const restMs = 1_000;

type ReadSome<Found> = (connection: ReadConnection, start: number, end?: number) => Promise<readonly Found[]>;

/**
 * Makes one connection of two.
 *
 * @param near its reads end before they return.
 * @param openFar opens one that reads in another thread, when it is needed.
 */
export function nearReads(
  near: ReadConnection,
  openFar: () => Promise<ReadConnection>,
  now: Clock,
): ReadConnection {
  const window = new ReadWindow(now);
  let opening: Promise<ReadConnection> | undefined;
  const inFar = async <Result>(run: (far: ReadConnection) => Promise<Result>): Promise<Result> => {
    opening ??= openFar();
    const far = await opening.catch((error) => {
      opening = undefined;
      throw error;
    });
    return run(far);
  };
  const read = async <Found>(count: number, readSome: ReadSome<Found>): Promise<readonly Found[]> => {
    const length = Math.min(count, window.length);
    if (length === count) return window.timed(() => readSome(near, 0));
    const others = inFar((far) => readSome(far, length));
    if (length === 0) return others;
    const [first, rest] = await Promise.all([window.timed(() => readSome(near, 0, length)), others]);
    return [...first, ...rest];
  };
  const { dialect, inTime, callsMax, shortCallsMax } = near;
  return {
    ...{ dialect, inTime, callsMax, shortCallsMax },
    query: (...call) => inFar((far) => far.query(...call)),
    page: (...call) => inFar((far) => far.page(...call)),
    count: (...call) => inFar((far) => far.count(...call)),
    find: ({ table, ids, urls }) =>
      read(ids.length, (connection, ...part) =>
        connection.find({ table, ids: ids.slice(...part), urls: urls.slice(...part) }),
      ),
    get: (table, ids: readonly PlantId[]) =>
      read(ids.length, (connection, ...part) => connection.get(table, ids.slice(...part))),
    async [Symbol.asyncDispose]() {
      await near[Symbol.asyncDispose]();
      await (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

/** How many plants may be read at once: as many as were quick, or up to twice as many. */
class ReadWindow {
  readonly #now: Clock;
  #length = 1;
  #restsUntil = 0;

  constructor(now: Clock) {
    this.#now = now;
  }

  get length(): number {
    if (this.#length === 0 && this.#now() >= this.#restsUntil) this.#length = 1;
    return this.#length;
  }

  /** Runs a read, which ends before this returns. */
  timed<Result>(read: () => Result): Result {
    const startedAt = this.#now();
    const result = read();
    const endedAt = this.#now();
    const ms = endedAt - startedAt;
    if (ms <= quickMs) this.#length = Math.min(nearMax, 2 * this.#length);
    else {
      this.#length = Math.floor((this.#length * quickMs) / ms);
      this.#restsUntil = endedAt + restMs;
    }
    return result;
  }
}
