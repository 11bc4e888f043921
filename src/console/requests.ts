// The console's call for the recent requests.

import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import type { RequestRecord } from "../core/observability/server-event.ts";
import type { RecentRequests } from "./recent-requests.ts";
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

  /** The newest requests, of one code if it is given: an error's number, or created, unchanged, served or clientAborted. */
  list(parameters: URLSearchParams): Response {
    const code = parameters.get("code") ?? "";
    const count = Number(parameters.get("count") ?? listedMax);
    if (!(count >= 1 && count <= listedMax)) throw new BadRequestError("count must be from 1 to 1000.");
    const epochOffset = this.#epochOffset();
    const counts: Record<string, number> = {};
    const requests: unknown[] = [];
    for (const record of this.#recent.newestFirst()) {
      const recordCode = codeOf(record);
      counts[recordCode] = (counts[recordCode] ?? 0) + 1;
      if (requests.length < count && (code === "" || code === recordCode))
        requests.push(toListed(record, recordCode, epochOffset));
    }
    return respondJson({ requests, counts });
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
