// Keeps the newest requests and the newest errors of the public listener in memory, for the
// console.

import { errorNumber } from "../../base/errors.ts";
import type { Clock, RequestRecord, ServerEvent } from "../../base/server-event.ts";

/** Messages and names are shown up to this length. */
const textLengthMax = 500;

/**
 * Longer paths are not stored in full: a thousand of the longest that Bun accepts would take 16 MB.
 */
const pathCharactersMax = 300;

/**
 * Two rings of records that the server makes anyway: a request costs one assignment. Errors have a
 * ring of their own, so that successes do not push them out.
 */
export class RecentRequests {
  readonly #all: Ring;
  readonly #errors: Ring;
  readonly #now: Clock;

  /**
   * @param recordsMax the capacity of each ring; the oldest records are overwritten.
   * @param now the clock of the records.
   */
  constructor(recordsMax: number, now: Clock) {
    this.#now = now;
    this.#all = new Ring(recordsMax);
    this.#errors = new Ring(recordsMax);
  }

  handle(event: ServerEvent): void {
    if (event.kind !== "requestCompleted") return;
    const { request } = event;
    const isLong = request.path.length > pathCharactersMax;
    const record = isLong ? { ...request, path: `${request.path.slice(0, pathCharactersMax)}…` } : request;
    this.#all.add(record);
    if (errorNumber(record.result) !== undefined) this.#errors.add(record);
  }

  /** Lists the newest requests, or with the parameter `errors` the newest errors. */
  list(parameters: URLSearchParams) {
    const records = (parameters.has("errors") ? this.#errors : this.#all).newestFirst();
    const count = Number(parameters.get("count") ?? records.length);
    const epochOffset = Date.now() - this.#now();
    const requests = records.slice(0, count).map((record) => toListed(record, epochOffset));
    return { requests, total: records.length };
  }
}

function toListed(record: Readonly<RequestRecord>, epochOffset: number) {
  const { requestId, method, path, status, result, message, caller, startedAt, endedAt } = record;
  return {
    requestId,
    at: new Date(endedAt + epochOffset).toISOString(),
    ms: Number((endedAt - startedAt).toFixed(3)),
    method,
    path,
    status,
    /** The number of an error, or null. */
    error: errorNumber(result) ?? null,
    result,
    message: message?.slice(0, textLengthMax) ?? null,
    token: caller?.slice(0, textLengthMax) ?? null,
  };
}

class Ring {
  readonly #records: (Readonly<RequestRecord> | undefined)[];
  #next = 0;

  constructor(recordsMax: number) {
    this.#records = new Array(recordsMax).fill(undefined);
  }

  add(record: Readonly<RequestRecord>): void {
    this.#records[this.#next] = record;
    this.#next = (this.#next + 1) % this.#records.length;
  }

  newestFirst(): Readonly<RequestRecord>[] {
    const oldestFirst = [...this.#records.slice(this.#next), ...this.#records.slice(0, this.#next)];
    return oldestFirst.filter((record) => record !== undefined).reverse();
  }
}
