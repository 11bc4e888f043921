// The log: events as lines on standard error, as JSON or in a readable format. Never contains a token or the name or tag
// of a plant.

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

/** A warning that may come with every batch or request is logged at most once in this time. */
const warningIntervalMs = 10_000;

/** The buffer for a slow reader of the log; further lines are dropped. */
const bufferedBytesMax = 2 ** 20;

const pathCharactersMax = 200;

const endMsMax = 1_000;

export class Log {
  readonly #logger: Logger;
  readonly #accessLimiter: FixedWindowLimiter;
  /** By the `throttle` of a line. */
  readonly #throttles = new Map<string, FixedWindowLimiter>();
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
  }

  /** Starts a log on standard error. Close it with end(). */
  static async open(options: LogOptions): Promise<Log> {
    return new Log(options.format === "json" ? jsonLines() : await readableLines(), options);
  }

  handle(event: ServerEvent): void {
    if (this.#hasEnded) return;
    if (event.kind === "requestCompleted") this.#logRequest(event.request);
    else if (event.kind !== "batchCommitted") this.#write(toLine(event));
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

  #write({ level, message, fields, throttle }: Line): void {
    if (throttle === undefined) {
      this.#logger[level](fields, message);
      return;
    }
    const limiter = this.#throttles.get(throttle) ?? new FixedWindowLimiter(1, warningIntervalMs);
    this.#throttles.set(throttle, limiter);
    const suppressed = limiter.tryAcquire(this.#now());
    if (suppressed === undefined) return;
    this.#logger[level]({ ...fields, suppressed: suppressed === 0 ? undefined : suppressed }, message);
  }
}

interface Line {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of the lines with the same text here, one in `warningIntervalMs` is logged. */
  readonly throttle?: string;
}

type LoggedEvent = Exclude<ServerEvent, { readonly kind: "requestCompleted" | "batchCommitted" }>;

/** The line of each kind of event. */
const lines: {
  readonly [Kind in LoggedEvent["kind"]]: (event: Extract<LoggedEvent, { readonly kind: Kind }>) => Line;
} = {
  configured: ({ version, settings }) =>
    line("info", "starting with these settings", {
      version,
      settings: Object.fromEntries(settings.map(settingEntry)),
    }),
  listening: ({ listener, url }) => line("info", `the ${listener} listener is open`, { url }),
  certificateLoaded: ({ subject, expiresAt }) =>
    line("info", "certificate loaded, used for new connections", {
      subject,
      expires: new Date(expiresAt).toISOString(),
    }),
  certificateReloadFailed: ({ reason }) =>
    line("warn", "certificate reload failed; the previous certificate stays in use", { reason }),
  storeUnavailable: ({ reason }) =>
    throttled("store unavailable; creates get 503 until it can commit again", { reason }),
  storeWaiting: ({ waitingFor }) =>
    throttled("waiting for the store, which does not respond", { reason: waitingFor }),
  tokenReloadFailed: ({ reason }) =>
    throttled("token reload failed; cached tokens are still accepted", { reason }),
  traceExportFailed: ({ reason }) => throttled("trace export failed; the spans are lost", { reason }),
  connectionsShed: ({ listener, open }) =>
    throttled(
      "too many connections; idle ones are closed, others after their next response",
      { listener, reason: `${open} are open` },
      listener,
    ),
  openFileLimitTooLow: ({ limit, needed }) =>
    line(
      "warn",
      "the limit on open files is too low for --connections-max; raise the limit or lower --connections-max",
      { limit, needed },
    ),
  lastUsedWriteFailed: ({ reason }) =>
    line("warn", "writing the last use of tokens failed; nothing else depends on it", { reason }),
  tokenRemovalFailed: ({ reason }) =>
    line("warn", "removing ended tokens failed; nothing else depends on it", { reason }),
  jwksRefreshFailed: ({ reason }) => throttled("JWKS refresh failed; cached keys stay in use", { reason }),
  storeFailed: ({ reason }) => line("error", "store failed, the server exits", { reason }),
  plantEdited: ({ change, id, by, client, user }) =>
    change === "updated"
      ? line("info", "plant updated", { id: String(id), by, client, user })
      : line("info", "plant deleted", { id: String(id), by, client, user }),
  internalError: ({ requestId, error }) =>
    line("error", "internal error", { requestId, ...errorFields(error) }),
  shuttingDown: ({ signal }) => line("info", "shutting down, draining requests", { signal }),
  forcedExit: ({ signal }) => line("warn", "second signal, exiting immediately", { signal }),
  stopped: () => line("info", "stopped", {}),
};

function toLine(event: LoggedEvent): Line {
  const render = lines[event.kind] as (event: LoggedEvent) => Line;
  return render(event);
}

function line(level: Line["level"], message: string, fields: Line["fields"]): Line {
  return { level, message, fields };
}

/** A warning that may come with every batch or request. */
function throttled(message: string, fields: Line["fields"], throttle = message): Line {
  return { ...line("warn", message, fields), throttle };
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
