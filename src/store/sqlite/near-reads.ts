// Reads single plants in the thread that asks for them, as the way to another thread takes ten times as
// long as a plant that is in memory. Those that are on the disk, or large, are left to the other thread.

import type { Clock } from "../../base/server-event.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { PlantReads } from "../shared/page.ts";
import { connectionClosed } from "./sql-reader.ts";

/** A read that takes longer is slow: 32 small plants in memory take 0.15. */
const quickMs = 1;

/** How many plants are read together. */
const nearMax = 32;

/** How long all reads are left to the other thread when even one plant takes too long. */
const restMs = 1_000;

type ReadSome<Found> = (reads: PlantReads, start: number, end?: number) => Promise<readonly Found[]>;

/**
 * Makes one connection of two.
 *
 * @param near its reads end before they return.
 * @param openFar opens one that reads in another thread, when it is needed.
 */
export function nearReads(near: PlantReads, openFar: () => Promise<PlantReads>, now: Clock): PlantReads {
  const window = new ReadWindow(now);
  let opening: Promise<PlantReads> | undefined;
  let isClosed = false;
  const inFar = async <Result>(run: (far: PlantReads) => Promise<Result>): Promise<Result> => {
    if (isClosed) throw connectionClosed();
    opening ??= openFar();
    const far = await opening.catch((error) => {
      opening = undefined;
      throw error;
    });
    return run(far);
  };
  const read = async <Found>(count: number, readSome: ReadSome<Found>): Promise<readonly Found[]> => {
    if (count <= window.length) return window.timed(() => readSome(near, 0));
    const found: Found[] = [];
    let start = 0;
    // In parts, which grow until one is slow.
    for (let length = window.length; start < count && length > 0; ) {
      const end = start + length;
      found.push(...(await window.timed(() => readSome(near, start, end))));
      start = end;
      length = window.length < length ? 0 : window.length;
    }
    if (start < count) found.push(...(await inFar((far) => readSome(far, start))));
    return found;
  };
  return {
    query: (...call) => inFar((far) => far.query(...call)),
    find: ({ table, ids, urls }) =>
      read(ids.length, (reads, ...part) =>
        reads.find({ table, ids: ids.slice(...part), urls: urls.slice(...part) }),
      ),
    get: (table, ids: readonly PlantId[]) =>
      read(ids.length, (reads, ...part) => reads.get(table, ids.slice(...part))),
    async [Symbol.asyncDispose]() {
      isClosed = true;
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
  #isWarm = false;

  constructor(now: Clock) {
    this.#now = now;
  }

  get length(): number {
    if (this.#length === 0 && this.#now() >= this.#restsUntil) this.#length = 1;
    return this.#length;
  }

  /** Runs a read, which ends before this returns. */
  timed<Result>(read: () => Result): Result {
    // The first one takes 1.5 ms, as it prepares its statement, and says nothing of the plants.
    if (!this.#isWarm) {
      this.#isWarm = true;
      return read();
    }
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
