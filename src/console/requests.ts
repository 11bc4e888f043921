// The console's call for the recent requests.

import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import type { RequestRecord } from "../core/observability/server-event.ts";
import { isError, type RecentRequests } from "./recent-requests.ts";
import { BadRequestError, respondJson } from "./responses.ts";

const listedMax = 1_000;

/** Messages and names are shown up to this length. */
const textLengthMax = 500;

export class Requests {
  readonly #recent: RecentRequests;
  readonly #epochOffset: () => number;

  /** @param epochOffset milliseconds from the clock of the records to the epoch. */
  constructor(recent: RecentRequests, epochOffset: () => number) {
    this.#recent = recent;
    this.#epochOffset = epochOffset;
  }

  /**
   * Lists the newest requests: those of a code, which is an error's number, `errors` for all of
   * them, created, unchanged, served or clientAborted; and those of a time, from `from` to `end`.
   */
  list(parameters: URLSearchParams): Response {
    const code = parameters.get("code") ?? "";
    const count = Number(parameters.get("count") ?? listedMax);
    if (!(count >= 1 && count <= listedMax)) throw new BadRequestError("count must be from 1 to 1000.");
    const [from, end] = ["from", "end"].map((name) => Number(parameters.get(name) ?? Number.NaN));
    const epochOffset = this.#epochOffset();
    const counts: Record<string, number> = {};
    const requests: unknown[] = [];
    for (const record of this.#recent.newestFirst()) {
      const recordCode = codeOf(record);
      const endedAt = record.endedAt + epochOffset;
      // Without a time the comparisons with NaN are false.
      if (endedAt < Number(from) || endedAt >= Number(end)) continue;
      counts[recordCode] = (counts[recordCode] ?? 0) + 1;
      if (
        requests.length < count &&
        (code === "" || code === recordCode || (code === "errors" && isError(record)))
      )
        requests.push(toListed(record, recordCode, epochOffset));
    }
    const { errorsSince } = this.#recent;
    return respondJson({
      requests,
      counts,
      errorsSince: errorsSince === undefined ? null : new Date(errorsSince + epochOffset).toISOString(),
    });
  }
}

function codeOf({ result }: RequestRecord): string {
  return result in errorRegistry ? String(errorRegistry[result as ErrorCode].error) : result;
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
