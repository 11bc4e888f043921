// Keeps the newest requests and the newest errors of the public listener in memory, for the
// console.

import { BadRequestError } from "../../admin-pages/admin-responses.ts";
import { errorNumber } from "../../base/errors.ts";
import type { Clock, RequestRecord, ServerEvent } from "../../base/server-event.ts";

/** The newest requests, and as many errors that are older: both rings. */
const listedMax = 2_000;

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

  /**
   * Lists the newest requests: all, or those with a code: the number of an error, `errors` for all
   * errors, `created`, `unchanged` or `clientAborted`.
   */
  list(parameters: URLSearchParams) {
    const code = parameters.get("code") ?? "";
    const count = Number(parameters.get("count") ?? listedMax);
    if (!(count >= 1 && count <= listedMax)) throw new BadRequestError("count must be from 1 to 2000.");
    const epochOffset = Date.now() - this.#now();
    const counts: Record<string, number> = {};
    const requests: ReturnType<typeof toListed>[] = [];
    const newest = this.#all.newestFirst();
    const listed = new Set(newest);
    const olderErrors = this.#errors.newestFirst().filter((error) => !listed.has(error));
    for (const record of [...newest, ...olderErrors]) {
      const recordCode = codeOf(record);
      counts[recordCode] = (counts[recordCode] ?? 0) + 1;
      if (
        requests.length < count &&
        (code === "" ||
          code === recordCode ||
          (code === "errors" && errorNumber(record.result) !== undefined))
      )
        requests.push(toListed(record, recordCode, epochOffset));
    }
    return { requests, counts };
  }
}

function codeOf({ result }: RequestRecord): string {
  return String(errorNumber(result) ?? result);
}

function toListed(record: Readonly<RequestRecord>, code: string, epochOffset: number) {
  const { requestId, method, path, status, message, caller, startedAt, endedAt } = record;
  return {
    requestId,
    at: new Date(endedAt + epochOffset).toISOString(),
    ms: Number((endedAt - startedAt).toFixed(3)),
    method,
    path,
    status,
    code,
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
