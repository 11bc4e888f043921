// Counts all plants, in parts, so that no other read waits for more than one of them.

import type { ConsoleContext, ConsoleEvent } from "./context.ts";

/** Plants of one part, which takes some 20 ms. */
const partPlants = 200_000;

/** A request waits this long for a count, which is enough for some million plants. */
const waitMsMax = 150;

/**
 * A count is repeated after this many times its duration, so that it takes at most 4 % of a
 * processor; and not before this.
 */
const durationsBetween = 25;
const betweenMsMin = 2_000;

interface Count {
  readonly plants: number;
  /** The value of `#changes` when the count began. */
  readonly changes: number;
  readonly endedAt: number;
  readonly durationMs: number;
}

export class PlantCount {
  readonly #context: ConsoleContext;
  #last: Count | undefined;
  #running: { plants: number; ended: Promise<void> } | undefined;
  /** Plants that this server has created, less those that it has deleted. */
  #changes = 0;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  handle(event: ConsoleEvent): void {
    if (event.kind === "requestCompleted" && event.request.result === "created") this.#changes++;
    else if (event.kind === "plantsChanged") this.#changes += event.created - event.deleted;
  }

  /** Call it when all plants were replaced. The result of a count that is running is dropped. */
  clear(): void {
    this.#last = undefined;
    this.#running = undefined;
  }

  /** `plants` is null until the first count has ended. */
  async read() {
    const { store, now } = this.#context;
    const { endedAt = 0, durationMs = 0 } = this.#last ?? {};
    const isStale = now() - endedAt > Math.max(betweenMsMin, durationsBetween * durationMs);
    if (this.#running === undefined && (this.#last === undefined || isStale)) this.#start();
    if (this.#running !== undefined) await Promise.race([this.#running.ended, Bun.sleep(waitMsMax)]);
    const last = this.#last;
    return {
      plants: last === undefined ? null : Math.max(0, last.plants + this.#changes - last.changes),
      countedSoFar: this.#running?.plants ?? null,
      bytes: (await store.bytesOnDisk()) ?? null,
    };
  }

  #start(): void {
    const running = { plants: 0, ended: Promise.resolve() };
    this.#running = running;
    running.ended = this.#count(running).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    // The request that waits for it reports a failure; the next one counts again.
    running.ended.catch(() => undefined);
  }

  async #count(running: { plants: number }): Promise<void> {
    const { reader, now } = this.#context;
    const [startedAt, changes] = [now(), this.#changes];
    const sql = await reader();
    let after: bigint | null = null;
    do {
      const [part]: { plants: bigint; last: bigint | null }[] = await sql.query(
        `SELECT count(*) AS plants, max(id) AS last
         FROM (SELECT id FROM plants ${after === null ? "" : "WHERE id > $2"} ORDER BY id LIMIT $1) AS part`,
        [partPlants, ...(after === null ? [] : [after])],
      );
      running.plants += Number(part?.plants);
      after = part?.last ?? null;
    } while (after !== null);
    if (this.#running !== running) return;
    this.#last = { plants: running.plants, changes, endedAt: now(), durationMs: now() - startedAt };
  }
}
