// The newest requests and the newest errors of the public listener, in memory, for the console.

import { errorRegistry } from "../core/contract/errors.ts";
import type { RequestRecord, ServerEvent } from "../core/observability/server-event.ts";

/**
 * Longer paths are not stored in full: a thousand of the longest that Bun accepts would take 16 MB.
 */
const pathCharactersMax = 300;

interface Numbered {
  readonly number: number;
  readonly record: Readonly<RequestRecord>;
}

/**
 * Two rings of the records that exist anyway: a request costs one assignment. Errors have one of
 * their own, so that successes do not push them out.
 */
export class RecentRequests {
  readonly #all: Ring;
  readonly #errors: Ring;
  #next = 0;

  /** @param recordsMax the capacity of each ring; the oldest records are overwritten. */
  constructor(recordsMax: number) {
    this.#all = new Ring(recordsMax);
    this.#errors = new Ring(recordsMax);
  }

  handle(event: ServerEvent): void {
    if (event.kind !== "requestCompleted") return;
    const { request } = event;
    const isLong = request.path.length > pathCharactersMax;
    const record = isLong ? { ...request, path: `${request.path.slice(0, pathCharactersMax)}…` } : request;
    const numbered = { number: this.#next++, record };
    this.#all.add(numbered);
    if (isError(record)) this.#errors.add(numbered);
  }

  /** All records, newest first. */
  *newestFirst(): Generator<Readonly<RequestRecord>> {
    let oldest = this.#next;
    for (const { number, record } of this.#all.newestFirst()) {
      oldest = number;
      yield record;
    }
    for (const { number, record } of this.#errors.newestFirst()) if (number < oldest) yield record;
  }

  /** When the oldest error that is stored ended; undefined while there is room for more. */
  get errorsSince(): number | undefined {
    return this.#errors.oldestIfFull?.record.endedAt;
  }
}

export function isError({ result }: Pick<RequestRecord, "result">): boolean {
  return result in errorRegistry;
}

class Ring {
  readonly #records: (Numbered | undefined)[];
  #count = 0;

  constructor(recordsMax: number) {
    this.#records = new Array(recordsMax).fill(undefined);
  }

  get oldestIfFull(): Numbered | undefined {
    return this.#records[this.#count % this.#records.length];
  }

  add(record: Numbered): void {
    this.#records[this.#count++ % this.#records.length] = record;
  }

  *newestFirst(): Generator<Numbered> {
    const { length } = this.#records;
    for (let at = this.#count - 1; at >= Math.max(0, this.#count - length); at--) {
      const record = this.#records[at % length];
      if (record !== undefined) yield record;
    }
  }
}
