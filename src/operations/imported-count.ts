// Counts the plants of an import by the command in the store, for the charts of the servers that run on it.

import type { ReadablePlantStore } from "../core/store/plant-store.ts";

/** A write of the count is a commit of its own. */
const everyMs = 1_000;

export class ImportedCount {
  readonly #store: Pick<ReadablePlantStore, "addImported">;
  readonly #now: () => number;
  #counted = 0;
  #created = 0;
  #countedAt: number;
  #writing: Promise<void> = Promise.resolve();

  /** @param now milliseconds of a monotonic clock. */
  constructor(store: Pick<ReadablePlantStore, "addImported">, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#countedAt = now();
  }

  /** @param created by the import so far. */
  update(created: number): void {
    this.#created = created;
    if (this.#now() - this.#countedAt >= everyMs) void this.flush();
  }

  /** Writes what is not written. A store that cannot be written says so with the next batch; plants count more than charts. */
  flush(): Promise<void> {
    this.#countedAt = this.#now();
    const added = this.#created - this.#counted;
    this.#counted = this.#created;
    if (added > 0)
      this.#writing = this.#writing.then(() => this.#store.addImported(added)).catch(() => undefined);
    return this.#writing;
  }
}
