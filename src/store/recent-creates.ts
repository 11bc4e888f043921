// The ids of the plants that this server created last, in memory: newest first costs the store nothing so.

import type { PlantStore } from "./plant-store.ts";

export class RecentCreates {
  readonly #ids: BigInt64Array;
  #created = 0;

  /** @param idsMax how many are remembered. */
  constructor(idsMax: number) {
    this.#ids = new BigInt64Array(idsMax);
  }

  /** The same store, whose creates are remembered. */
  remembering(store: Pick<PlantStore, "create">): Pick<PlantStore, "create"> {
    return {
      create: async (batch) => {
        const outcomes = await store.create(batch);
        for (const [index, outcome] of outcomes.entries()) {
          const plant = batch[index];
          if (outcome === "created" && plant !== undefined)
            this.#ids[this.#created++ % this.#ids.length] = plant.id;
        }
        return outcomes;
      },
    };
  }

  /** Ids from a position down, newest first, and where the next ones begin. Positions count creates from 1. */
  page(after: bigint | undefined, idsMax: number): { ids: bigint[]; next: bigint | undefined } {
    const oldest = Math.max(0, this.#created - this.#ids.length);
    const start = after === undefined ? this.#created : Math.min(this.#created, Number(after) - 1);
    const end = Math.max(oldest, start - idsMax);
    const ids: bigint[] = [];
    for (let position = start; position > end; position--)
      ids.push(this.#ids[(position - 1) % this.#ids.length] ?? 0n);
    return { ids, next: end > oldest && ids.length > 0 ? BigInt(end + 1) : undefined };
  }
}
