// Counts all plants of a collection, in parts, so that no other read waits for more than one of
// them.

import type { PlantId } from "../../contract/plant-id.ts";
import type { ConsoleContext } from "../console-context.ts";

/** Plants of one part, which takes some 20 ms. */
const partPlants = 200_000;

/** A request waits this long for a count, which is enough for some million plants. */
const waitMsMax = 150;

/**
 * A count is repeated after this many times its duration, so that it takes at most 4 % of a
 * processor.
 */
const durationsBetween = 25;

export class PlantCount {
  readonly #context: ConsoleContext;
  #last: { readonly plants: number; readonly endedAt: number; readonly durationMs: number } | undefined;
  #countedSoFar = 0;
  #counting: Promise<void> | undefined;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  /** `plants` is null until the first count has ended. */
  async read() {
    const { store, now } = this.#context;
    const { endedAt = -Infinity, durationMs = 0 } = this.#last ?? {};
    if (now() - endedAt > durationsBetween * durationMs)
      this.#counting ??= this.#count().finally(() => {
        this.#counting = undefined;
      });
    // The request that waits for a count reports its failure; the next one counts again.
    if (this.#counting !== undefined) await Promise.race([this.#counting, Bun.sleep(waitMsMax)]);
    return {
      plants: this.#last?.plants ?? null,
      countedSoFar: this.#counting === undefined ? null : this.#countedSoFar,
      bytes: await store.bytesOnDisk(),
    };
  }

  async #count(): Promise<void> {
    const { collection, reader, now } = this.#context;
    this.#countedSoFar = 0;
    const startedAt = now();
    const sql = await reader();
    let after: PlantId | null = null;
    do {
      const [part]: { plants: bigint; last: PlantId | null }[] = await sql.query(
        `SELECT count(*) AS plants, max(id) AS last
         FROM (SELECT id FROM "${collection.table}" ${after === null ? "" : "WHERE id > $2"} ORDER BY id LIMIT $1) AS part`,
        [partPlants, ...(after === null ? [] : [after])],
      );
      this.#countedSoFar += Number(part?.plants);
      after = part?.last ?? null;
    } while (after !== null);
    this.#last = { plants: this.#countedSoFar, endedAt: now(), durationMs: now() - startedAt };
  }
}
