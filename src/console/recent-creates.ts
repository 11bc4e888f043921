// The ids of the plants that this server created last, in memory: a list by creation order that costs the store nothing.

import type { FinishedBatch } from "../core/store/group-commit.ts";

export class RecentCreates {
  /** A ring buffer. */
  readonly #ids: BigInt64Array;
  #created = 0;

  /** @param idsMax the capacity; the oldest ids are overwritten. */
  constructor(idsMax: number) {
    this.#ids = new BigInt64Array(idsMax);
  }

  /** Adds the ids of a batch that were created. */
  add({ entries, outcomes }: Pick<FinishedBatch, "entries" | "outcomes">): void {
    if (outcomes === undefined) return;
    entries.forEach(({ plant }, index) => {
      if (outcomes[index] === "created") this.#ids[this.#created++ % this.#ids.length] = plant.id;
    });
  }

  /** Forgets all ids, as after all plants were replaced. */
  clear(): void {
    this.#created = 0;
  }

  /** The number of plants that this server has created. */
  get created(): number {
    return this.#created;
  }

  /**
   * At most `idsMax` ids before a position, newest first, and the positions of the next page and the previous one. Positions
   * count creates from 1.
   */
  page(
    after: bigint | undefined,
    idsMax: number,
  ): { ids: bigint[]; next: bigint | undefined; previous: bigint | undefined } {
    const oldest = Math.max(0, this.#created - this.#ids.length);
    const start = after === undefined ? this.#created : Math.min(this.#created, Number(after) - 1);
    const end = Math.max(oldest, start - idsMax);
    const ids: bigint[] = [];
    for (let position = start; position > end; position--)
      ids.push(this.#ids[(position - 1) % this.#ids.length] ?? 0n);
    const next = end > oldest && ids.length > 0 ? BigInt(end + 1) : undefined;
    const previous = start < this.#created ? BigInt(Math.min(this.#created, start + idsMax) + 1) : undefined;
    return { ids, next, previous };
  }
}
