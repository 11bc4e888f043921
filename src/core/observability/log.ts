// The log: events as lines on standard error, without tokens and fields of plants.

import { SonicBoom } from "sonic-boom";
import { errorRegistry, isErrorCode } from "../contract/errors.ts";
import { FixedWindowLimiter } from "./fixed-window-limiter.ts";
import { formatEvent, formatRequest } from "./readable-lines.ts";
import type { Clock, RequestRecord, ServerEvent } from "./server-event.ts";

export interface LogOptions {
  readonly format: "json" | "pretty";
  /** Whether readable lines have colours. */
  readonly colours: boolean;
  /** Less severe lines are not logged. */
  readonly level: (typeof levels)[number];
  /** At most this many lines of requests in a second; 0 for none. */
  readonly accessLinesPerSecond: number;
  readonly now: Clock;
  /** Standard error by default. */
  readonly output?: LogOutput | undefined;
}

/** A warning or an error with the same message is logged at most once in this time. */
const throttledIntervalMs = 10_000;

/** The buffer for a slow reader of the log; further lines are dropped. */
const bufferedBytesMax = 2 ** 20;

const pathCharactersMax = 200;

const endMsMax = 1_000;

/** The most severe first. */
const levels = ["error", "warn", "info"] as const;

export class Log {
  readonly #format: LineFormat;
  readonly #levels: readonly LogOptions["level"][];
  readonly #accessLimiter: FixedWindowLimiter;
  /** Keyed by the message of a line. */
  readonly #throttles = new Map<string, FixedWindowLimiter>();
  readonly #now: Clock;
  readonly #output: LogOutput;
  #ending: Promise<boolean> | undefined;

  /** Starts a log. Close it with end(). */
  constructor(options: LogOptions) {
    const { format, level, accessLinesPerSecond, now } = options;
    this.#output = options.output ?? openStandardError();
    const { stream } = this.#output;
    this.#format = format === "json" ? jsonFormat(stream) : readableFormat(options, stream);
    this.#levels = levels.slice(0, levels.indexOf(level) + 1);
    this.#now = now;
    this.#accessLimiter = new FixedWindowLimiter(accessLinesPerSecond, 1_000);
  }

  handle(event: ServerEvent): void {
    if (this.#ending !== undefined) return;
    if (event.kind === "requestCompleted") this.#logRequest(event.request);
    else if (event.kind !== "batchCommitted") this.#write(event);
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
    this.#format.writeRequest({ ...request, path }, suppressed || undefined);
  }

  #write(event: LoggedEvent): void {
    const { level, message, fields } = toLine(event);
    if (!this.#levels.includes(level)) return;
    const suppressed = level === "info" ? 0 : this.#throttle(message);
    if (suppressed === undefined) return;
    this.#format.write({ level, message, fields: { ...fields, suppressed: suppressed || undefined } });
  }

  /** Returns how many lines with this message were suppressed, or undefined if this one is too. */
  #throttle(message: string): number | undefined {
    const limiter = this.#throttles.get(message) ?? new FixedWindowLimiter(1, throttledIntervalMs);
    this.#throttles.set(message, limiter);
    return limiter.tryAcquire(this.#now());
  }
}

interface Line {
  readonly level: LogOptions["level"];
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

type LoggedEvent = Exclude<ServerEvent, { readonly kind: "requestCompleted" | "batchCommitted" }>;

const lines: {
  readonly [Kind in LoggedEvent["kind"]]: (event: Extract<LoggedEvent, { readonly kind: Kind }>) => Line;
} = {
  storeUnavailable: ({ reason }) =>
    line("warn", "store unavailable; creates get 503 until it can commit again", { reason }),
  operationFailed: ({ operation, reason }) =>
    line("warn", "the store failed an operation", { operation, reason }),
  storeWaiting: ({ waitingFor }) => line("warn", "waiting for the store", { reason: waitingFor }),
  tokenReloadFailed: ({ reason }) =>
    line("warn", "the tokens cannot be read; those that are known stay accepted", { reason }),
  traceExportFailed: ({ reason }) => line("warn", "trace export failed; the spans are lost", { reason }),
  connectionsShed: ({ open }) =>
    line("warn", "too many connections; idle ones are closed, others after their next response", {
      reason: `${open} are open`,
    }),
  jwksRefreshFailed: ({ reason }) => line("warn", "JWKS refresh failed; cached keys stay in use", { reason }),
  storeFailed: ({ reason }) => line("error", "store failed, the server exits", { reason }),
  notice: ({ message, fields }) => line("info", message, fields),
  internalError: ({ requestId, error }) =>
    line("error", "internal error", { requestId, ...errorFields(error) }),
};

function toLine(event: LoggedEvent): Line {
  const render = lines[event.kind] as (event: LoggedEvent) => Line;
  return render(event);
}

function line(level: Line["level"], message: string, fields: Line["fields"]): Line {
  return { level, message, fields };
}

interface LineFormat {
  writeRequest(request: Readonly<RequestRecord>, suppressed: number | undefined): void;
  write(line: Line): void;
}

function jsonFormat(stream: LogOutput["stream"]): LineFormat {
  const write = ({ level, fields, message: msg }: Line) =>
    stream.write(`${JSON.stringify({ level, time: new Date(), ...fields, msg })}\n`);
  return {
    writeRequest(request, suppressed) {
      const { requestId, method, path, status, result, message, caller, startedAt, endedAt } = request;
      const fields = {
        requestId,
        method,
        path,
        status,
        ...(isErrorCode(result) ? { error: errorRegistry[result].error, message } : { result }),
        token: caller,
        ms: Number((endedAt - startedAt).toFixed(3)),
        suppressed,
      };
      write(line("info", `${method} ${path} ${status}`, fields));
    },
    write,
  };
}

/** For people, in local time. */
function readableFormat({ colours }: LogOptions, stream: LogOutput["stream"]): LineFormat {
  return {
    writeRequest(request, suppressed) {
      stream.write(`${formatRequest(request, suppressed, new Date(), colours)}\n`);
    },
    write({ level, message, fields }) {
      stream.write(`${formatEvent(level, message, fields, new Date(), colours)}\n`);
    },
  };
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

/** Only message and stack: a database's error also has the row that it failed on. */
function errorFields(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined };
}
