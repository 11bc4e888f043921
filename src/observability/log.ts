// The log: events as lines on standard error, as JSON or in a readable format. Never contains a token or the content of a
// plant.

import pino, { type DestinationStream, type Logger } from "pino";
import { errorRegistry } from "../contract/errors.ts";
import { FixedWindowLimiter } from "./fixed-window-limiter.ts";
import type { Clock, RequestRecord, ServerEvent } from "./server-event.ts";

export interface LogOptions {
  readonly format: "json" | "pretty";
  /** Less severe lines are not logged. */
  readonly level: "error" | "warn" | "info";
  /** At most this many lines of requests in a second; 0 for none. */
  readonly accessLinesPerSecond: number;
  readonly now: Clock;
}

/** A warning that may come with every batch is logged at most once in this time. */
const warningIntervalMs = 10_000;

/** The buffer for a slow reader of the log; further lines are dropped. */
const bufferedBytesMax = 2 ** 20;

const pathCharactersMax = 200;

const endMsMax = 1_000;

export class Log {
  readonly #logger: Logger;
  readonly #accessLimiter: FixedWindowLimiter;
  readonly #storeThrottle: FixedWindowLimiter;
  readonly #waitThrottle: FixedWindowLimiter;
  readonly #tokenThrottle: FixedWindowLimiter;
  readonly #traceThrottle: FixedWindowLimiter;
  readonly #connectionThrottles: Readonly<Record<"public" | "admin", FixedWindowLimiter>>;
  readonly #jwksThrottle: FixedWindowLimiter;
  readonly #now: Clock;
  readonly #end: Lines["end"];
  readonly #abandon: Lines["abandon"];
  #hasEnded = false;

  private constructor({ stream, end, abandon }: Lines, { level, accessLinesPerSecond, now }: LogOptions) {
    this.#end = end;
    this.#abandon = abandon;
    this.#logger = pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    );
    this.#now = now;
    this.#accessLimiter = new FixedWindowLimiter(accessLinesPerSecond, 1_000);
    this.#storeThrottle = new FixedWindowLimiter(1, warningIntervalMs);
    this.#waitThrottle = new FixedWindowLimiter(1, warningIntervalMs);
    this.#tokenThrottle = new FixedWindowLimiter(1, warningIntervalMs);
    this.#traceThrottle = new FixedWindowLimiter(1, warningIntervalMs);
    this.#connectionThrottles = {
      public: new FixedWindowLimiter(1, warningIntervalMs),
      admin: new FixedWindowLimiter(1, warningIntervalMs),
    };
    this.#jwksThrottle = new FixedWindowLimiter(1, warningIntervalMs);
  }

  static async open(options: LogOptions): Promise<Log> {
    return new Log(options.format === "json" ? jsonLines() : await readableLines(), options);
  }

  handle(event: ServerEvent): void {
    if (this.#hasEnded) return;
    switch (event.kind) {
      case "requestCompleted":
        this.#logRequest(event.request);
        break;
      case "configured":
        this.#logger.info(
          { version: event.version, settings: Object.fromEntries(event.settings.map(settingEntry)) },
          "starting with these settings",
        );
        break;
      case "listening":
        this.#logger.info({ url: event.url }, `the ${event.listener} listener is open`);
        break;
      case "certificateLoaded":
        this.#logger.info(
          { subject: event.subject, expires: new Date(event.expiresAt).toISOString() },
          "certificate loaded, used for new connections",
        );
        break;
      case "certificateReloadFailed":
        this.#logger.warn(
          { reason: event.reason },
          "certificate reload failed; the previous certificate stays in use",
        );
        break;
      case "storeUnavailable":
        this.#warn(
          this.#storeThrottle,
          { reason: event.reason },
          "store unavailable; creates get 503 until it can commit again",
        );
        break;
      case "storeWaiting":
        this.#warn(
          this.#waitThrottle,
          { reason: event.waitingFor },
          "waiting for the store, which does not respond",
        );
        break;
      case "tokenReloadFailed":
        this.#warn(
          this.#tokenThrottle,
          { reason: event.reason },
          "token reload failed; cached tokens are still accepted",
        );
        break;
      case "traceExportFailed":
        this.#warn(this.#traceThrottle, { reason: event.reason }, "trace export failed; the spans are lost");
        break;
      case "connectionsShed":
        this.#warn(
          this.#connectionThrottles[event.listener],
          { listener: event.listener, reason: `${event.open} are open` },
          "too many connections; idle ones are closed, others after their next response",
        );
        break;
      case "openFileLimitTooLow":
        this.#logger.warn(
          { limit: event.limit, needed: event.needed },
          "the limit on open files is too low for --connections-max; raise the limit or lower --connections-max",
        );
        break;
      case "lastUsedWriteFailed":
        this.#logger.warn(
          { reason: event.reason },
          "writing the last use of tokens failed; nothing else depends on it",
        );
        break;
      case "tokenRemovalFailed":
        this.#logger.warn(
          { reason: event.reason },
          "removing ended tokens failed; nothing else depends on it",
        );
        break;
      case "jwksRefreshFailed":
        this.#warn(
          this.#jwksThrottle,
          { reason: event.reason },
          "JWKS refresh failed; cached keys stay in use",
        );
        break;
      case "storeFailed":
        this.#logger.error({ reason: event.reason }, "store failed, the server exits");
        break;
      case "internalError":
        this.#logger.error({ requestId: event.requestId, ...errorFields(event.error) }, "internal error");
        break;
      case "shuttingDown":
        this.#logger.info({ signal: event.signal }, "shutting down, draining requests");
        break;
      case "forcedExit":
        this.#logger.warn({ signal: event.signal }, "second signal, exiting immediately");
        break;
      case "stopped":
        this.#logger.info("stopped");
        break;
      case "batchCommitted":
        break;
    }
  }

  /**
   * Writes the buffered lines, and resolves with whether all were written: a reader that hangs is given a second. Later events
   * are not logged.
   */
  end(): Promise<boolean> {
    this.#hasEnded = true;
    const written = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      this.#abandon();
      written.resolve(false);
    }, endMsMax);
    this.#end(() => {
      clearTimeout(timer);
      written.resolve(true);
    });
    return written.promise;
  }

  #logRequest(request: Readonly<RequestRecord>): void {
    const suppressed = this.#accessLimiter.tryAcquire(request.endedAt);
    if (suppressed === undefined) return;
    const { requestId, method, status, result, caller, startedAt, endedAt } = request;
    const path = request.path.slice(0, pathCharactersMax);
    const fields = {
      requestId,
      method,
      path,
      status,
      ...(result in errorRegistry ? { error: errorNumber(result) } : { result }),
      token: caller,
      ms: Number((endedAt - startedAt).toFixed(3)),
      suppressed: suppressed === 0 ? undefined : suppressed,
    };
    this.#logger.info(fields, `${method} ${path} ${status}`);
  }

  #warn(throttle: FixedWindowLimiter, fields: Readonly<Record<string, string>>, message: string): void {
    const suppressed = throttle.tryAcquire(this.#now());
    if (suppressed === undefined) return;
    this.#logger.warn({ ...fields, suppressed: suppressed === 0 ? undefined : suppressed }, message);
  }
}

interface Lines {
  readonly stream: DestinationStream;
  /** Writes the buffered lines. */
  readonly end: (whenWritten: () => void) => void;
  /** Drops the buffered lines. */
  readonly abandon: () => void;
}

function jsonLines(): Lines {
  const stream = pino.destination({ fd: 2, sync: false, maxLength: bufferedBytesMax });
  // The reader of the log may end; the server continues without a log.
  let hasReaderEnded = false;
  stream.on("error", () => {
    hasReaderEnded = true;
  });
  const end = (whenWritten: () => void) => {
    if (hasReaderEnded) return whenWritten();
    stream.once("close", whenWritten);
    stream.once("error", whenWritten);
    stream.end();
  };
  // Without destroy pino would wait for the reader again when the process exits.
  return { stream, end, abandon: () => stream.destroy() };
}

async function readableLines(): Promise<Lines> {
  // Loading it takes 15 ms of processor time.
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({ destination: 2, sync: true, singleLine: true, translateTime: "SYS:HH:MM:ss.l" });
  stream.on("error", () => undefined);
  return { stream, end: (whenWritten) => stream.end(whenWritten), abandon: () => stream.destroy() };
}

function settingEntry({ name, value, source }: { name: string; value: unknown; source: string }) {
  return [name, { value, source }] as const;
}

function errorNumber(code: string): number {
  return errorRegistry[code as keyof typeof errorRegistry].error;
}

/** Only message and stack: other properties of a database's error contain the row that it failed on. */
function errorFields(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined };
}
