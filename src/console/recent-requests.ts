// The newest requests of the public listener, in memory, for the console.

import type { RequestRecord, ServerEvent } from "../core/observability/server-event.ts";

/** Longer paths are not stored in full: a thousand of the longest that Bun accepts would take 16 MB. */
const pathCharactersMax = 300;

/** A ring of the records that exist anyway: a request costs one assignment. */
export class RecentRequests {
  readonly #records: (Readonly<RequestRecord> | undefined)[];
  #count = 0;

  /** @param recordsMax the capacity; the oldest records are overwritten. */
  constructor(recordsMax: number) {
    this.#records = new Array(recordsMax).fill(undefined);
  }

  handle(event: ServerEvent): void {
    if (event.kind !== "requestCompleted") return;
    const { request } = event;
    this.#records[this.#count++ % this.#records.length] =
      request.path.length > pathCharactersMax
        ? { ...request, path: `${request.path.slice(0, pathCharactersMax)}…` }
        : request;
  }

  /** All records, newest first. */
  *newestFirst(): Generator<Readonly<RequestRecord>> {
    const { length } = this.#records;
    for (let at = this.#count - 1; at >= Math.max(0, this.#count - length); at--) {
      const record = this.#records[at % length];
      if (record !== undefined) yield record;
    }
  }
}
