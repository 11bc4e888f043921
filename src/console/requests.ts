// The console's calls for the recent requests, and for the storing of their bodies, which is off unless an operator switches
// it on, for at most an hour.

import { BadRequestError, respondJson } from "../core/admin/responses.ts";
import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import type { BodyCapture } from "../core/http/create-plant.ts";
import type { Clock, Emit, RequestRecord } from "../core/observability/server-event.ts";
import type { RecentRequests } from "./recent-requests.ts";

export interface RequestsDependencies {
  readonly recent: RecentRequests;
  readonly bodyCapture: BodyCapture;
  readonly emit: Emit;
  /** The clock of the records. */
  readonly now: Clock;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
}

const captureMinutesMax = 60;
const listedMax = 1_000;

/** Messages and names are shown up to this length. */
const textLengthMax = 500;

export class Requests {
  readonly #dependencies: RequestsDependencies;
  #captureEndsAt: number | undefined;
  #timer: Timer | undefined;

  constructor(dependencies: RequestsDependencies) {
    this.#dependencies = dependencies;
  }

  /** The newest requests, of one code if it is given: an error's number, or created, unchanged, served or clientAborted. */
  list(parameters: URLSearchParams): Response {
    const code = parameters.get("code") ?? "";
    const count = Number(parameters.get("count") ?? listedMax);
    if (!(count >= 1 && count <= listedMax)) throw new BadRequestError("count must be from 1 to 1000.");
    const { recent, now, wallNow } = this.#dependencies;
    const epochOffset = wallNow() - now();
    const counts: Record<string, number> = {};
    const requests: unknown[] = [];
    for (const record of recent.newestFirst()) {
      const recordCode = codeOf(record);
      counts[recordCode] = (counts[recordCode] ?? 0) + 1;
      if (requests.length < count && (code === "" || code === recordCode))
        requests.push(toListed(record, recordCode, epochOffset));
    }
    return respondJson({ requests, counts, captureEndsAt: this.#captureEndsAt ?? null });
  }

  /** Switches the storing of bodies on for some minutes; off with 0, which also drops those that are stored. */
  captureBodies(body: { minutes: string }): Response {
    const minutes = Number(body.minutes);
    if (!(Number.isInteger(minutes) && minutes >= 0 && minutes <= captureMinutesMax))
      throw new BadRequestError(`minutes must be from 0 to ${captureMinutesMax}.`);
    this.#change(minutes);
    return respondJson({ captureEndsAt: this.#captureEndsAt ?? null });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #change(minutes: number): void {
    const { bodyCapture, recent, emit, wallNow } = this.#dependencies;
    clearTimeout(this.#timer);
    if (bodyCapture.isOn || minutes > 0) emit({ kind: "bodyCaptureChanged", minutes });
    bodyCapture.isOn = minutes > 0;
    if (minutes === 0) {
      this.#captureEndsAt = undefined;
      recent.dropBodies();
      return;
    }
    this.#captureEndsAt = wallNow() + minutes * 60_000;
    this.#timer = setTimeout(() => this.#change(0), minutes * 60_000);
  }
}

function codeOf({ result }: RequestRecord): string {
  return result in errorRegistry ? String(errorRegistry[result as ErrorCode].error) : result;
}

function toListed(record: Readonly<RequestRecord>, code: string, epochOffset: number) {
  const { requestId, method, path, status, message, caller, startedAt, endedAt, body } = record;
  return {
    requestId,
    at: new Date(endedAt + epochOffset).toISOString(),
    ms: Number((endedAt - startedAt).toFixed(3)),
    ...{ method, path, status, code },
    message: message?.slice(0, textLengthMax) ?? null,
    token: caller?.slice(0, textLengthMax) ?? null,
    body: body === undefined ? null : new TextDecoder().decode(body),
  };
}
