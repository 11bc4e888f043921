// Remembers how many plants lists have: in a large store counting takes longer than reading a page.

import { BoundedMap } from "../base/bounded-map.ts";

/** A count that takes less is made for each list. */
const freeMs = 20;

/** A count is repeated after this many times its duration, so that it takes at most 4 % of a processor. */
const durationsBetween = 25;

/** A list waits for its first count, and shortly for a later one. */
const waitMsMax = 1_000;
const laterWaitMsMax = 10;

/** Lists whose counts are remembered. */
const countsMax = 1_000;

/** Counts; gets how long it took before, and says how long it took. */
type Count = (lastMs: number) => Promise<{ readonly total: number; readonly ms: number }>;

interface Known {
  total: number | undefined;
  durationMs: number;
  endedAt: number;
  counting: Promise<void> | undefined;
}

export class ListCounts {
  readonly #known = new BoundedMap<string, Known>(countsMax);

  /**
   * A number that was right a moment ago; undefined if it is not known in time.
   *
   * @param count what it rejects with is that of the calls that wait.
   */
  async total(key: string, count: Count): Promise<number | undefined> {
    const known = this.#known.get(key) ?? {
      total: undefined,
      durationMs: 0,
      endedAt: 0,
      counting: undefined,
    };
    this.#known.set(key, known);
    const isFree = known.durationMs < freeMs;
    if (!isFree && performance.now() - known.endedAt < durationsBetween * known.durationMs)
      return known.total;
    if (isFree && known.counting !== undefined) await known.counting.catch(() => undefined);
    const waitMs = isFree || known.total === undefined ? waitMsMax : laterWaitMsMax;
    known.counting ??= this.#count(known, count).finally(() => {
      known.counting = undefined;
    });
    const { counting } = known;
    await Promise.race([counting, Bun.sleep(waitMs)]);
    return isFree && known.counting === counting ? undefined : known.total;
  }

  async #count(known: Known, count: Count): Promise<void> {
    const { total, ms } = await count(known.durationMs);
    known.total = total;
    known.durationMs = ms;
    known.endedAt = performance.now();
  }
}
