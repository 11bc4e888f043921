// Writes events as lines of the log on standard error, without tokens and fields of plants.

import { SonicBoom } from "sonic-boom";
import { errorNumber } from "../../base/errors.ts";
import type { Clock, RequestRecord, ServerEvent } from "../../base/server-event.ts";
import { type LineFormat, type LoggedEvent, type LogLevel, lineOf, logLevels } from "./log-lines.ts";
import { readableFormat } from "./readable-lines.ts";

export interface LogOptions {
  readonly format: "json" | "pretty";
  /** Whether readable lines have colours. */
  readonly colours: boolean;
  /** Less severe lines are not logged. */
  readonly level: LogLevel;
  /** At most this many lines of requests in a second; 0 for none. */
  readonly accessLinesPerSecond: number;
  readonly now: Clock;
  /** Standard error by default. */
  readonly output?: LogOutput | undefined;
}

/** A warning is logged at most once in this time. */
const throttledIntervalMs = 10_000;

/** Internal errors that are logged in that time: they may have different causes. */
const internalErrorsMax = 10;

/** The buffer for a slow reader of the log; further lines are dropped. */
const bufferedBytesMax = 2 ** 20;

const pathCharactersMax = 200;

const endMsMax = 1_000;

export class Log {
  readonly #format: LineFormat;
  readonly #levels: readonly LogLevel[];
  readonly #accessLimiter: FixedWindowLimiter;
  /** Keyed by the kind of an event. */
  readonly #throttles = new Map<string, FixedWindowLimiter>();
  readonly #now: Clock;
  readonly #output: LogOutput;
  #ending: Promise<boolean> | undefined;

  /** Starts a log. Close it with end(). */
  constructor(options: LogOptions) {
    const { format, level, accessLinesPerSecond, now } = options;
    this.#output = options.output ?? openStandardError();
    this.#format = format === "json" ? jsonFormat : readableFormat(options.colours);
    this.#levels = logLevels.slice(0, logLevels.indexOf(level) + 1);
    this.#now = now;
    this.#accessLimiter = new FixedWindowLimiter(accessLinesPerSecond, 1_000);
  }

  handle(event: ServerEvent): void {
    if (this.#ending !== undefined) return;
    if (event.kind === "requestCompleted") this.#logRequest(event.request);
    else if (event.kind !== "batchCommitted") this.#logEvent(event);
  }

  /**
   * Writes the buffered lines, for at most a second; resolves with whether all were written. May be
   * called again, as each further signal does.
   */
  end(): Promise<boolean> {
    this.#ending ??= this.#output.end();
    return this.#ending;
  }

  #logRequest(request: Readonly<RequestRecord>): void {
    if (!this.#levels.includes("info")) return;
    const suppressed = this.#accessLimiter.tryAcquire(request.endedAt);
    if (suppressed === undefined) return;
    const path = request.path.slice(0, pathCharactersMax);
    this.#write(this.#format.request({ ...request, path }, suppressed || undefined, new Date()));
  }

  #logEvent(event: LoggedEvent): void {
    const { level, message, fields } = lineOf(event);
    if (!this.#levels.includes(level)) return;
    const linesMax = event.kind === "internalError" ? internalErrorsMax : 1;
    const limiter = this.#throttles.get(event.kind) ?? new FixedWindowLimiter(linesMax, throttledIntervalMs);
    this.#throttles.set(event.kind, limiter);
    const suppressed = level === "info" ? 0 : limiter.tryAcquire(this.#now());
    if (suppressed === undefined) return;
    const line = { level, message, fields: { ...fields, suppressed: suppressed || undefined } };
    this.#write(this.#format.event(line, new Date()));
  }

  #write(line: string): void {
    this.#output.stream.write(`${line}\n`);
  }
}

export interface LogOutput {
  readonly stream: { write(lines: string): unknown };
  /** Writes the buffered lines, and drops those that cannot be written in time. */
  readonly end: () => Promise<boolean>;
}

function openStandardError(): LogOutput {
  const stream = new SonicBoom({ fd: 2, sync: false, maxLength: bufferedBytesMax });
  // The reader of the log may end, or its disk be full: the server continues without a log.
  let hasFailed = false;
  stream.on("error", () => {
    hasFailed = true;
  });
  const end = async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, endMsMax, false);
    stream.once("close", () => resolve(true));
    stream.once("error", () => resolve(false));
    if (hasFailed) resolve(false);
    else stream.end();
    const isWritten = await promise;
    clearTimeout(timer);
    return isWritten;
  };
  return { stream, end };
}

/** The lines as JSON. */
const jsonFormat: LineFormat = {
  request(request, suppressed, time) {
    const { requestId, method, path, status, result, message, caller, startedAt, endedAt } = request;
    const error = errorNumber(result);
    const fields = {
      requestId,
      method,
      path,
      status,
      ...(error === undefined ? { result } : { error, message }),
      token: caller,
      ms: Number((endedAt - startedAt).toFixed(3)),
      suppressed,
    };
    return this.event({ level: "info", message: `${method} ${path} ${status}`, fields }, time);
  },
  event({ level, fields, message: msg }, time) {
    return JSON.stringify({ level, time, ...fields, msg });
  },
};

/** Limits how often a line is logged, so that the log does not grow with the traffic. */
class FixedWindowLimiter {
  readonly #countMax: number;
  readonly #periodMs: number;
  #periodEnd = Number.NEGATIVE_INFINITY;
  #count = 0;
  #suppressed = 0;

  /** @param countMax how many are let through in each period. */
  constructor(countMax: number, periodMs: number) {
    this.#countMax = countMax;
    this.#periodMs = periodMs;
  }

  /**
   * Returns how many were suppressed since the last one that was let through, or undefined if this
   * one is suppressed too. `now` is in milliseconds of a clock that never runs backwards.
   */
  tryAcquire(now: number): number | undefined {
    if (now >= this.#periodEnd) {
      this.#periodEnd = now + this.#periodMs;
      this.#count = 0;
    }
    if (this.#count >= this.#countMax) {
      this.#suppressed++;
      return undefined;
    }
    this.#count++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}
