// The log: events as lines on standard error, JSON for machines or readable for people. Never a token, never a
// plant's content.

import pino, { type DestinationStream, type Logger } from "pino";
import pretty from "pino-pretty";
import { errorRegistry } from "../contract/errors.ts";
import { FixedWindowLimiter } from "./fixed-window-limiter.ts";
import type { Clock, RequestRecord, ServerEvent } from "./server-event.ts";

export interface LogOptions {
  readonly format: "json" | "pretty";
  /** What is less severe is left out. */
  readonly level: "error" | "warn" | "info";
  /** Requests that get a line of their own, in a second at the most; 0 is none. */
  readonly accessLinesPerSecond: number;
  readonly now: Clock;
}

/** The same trouble comes with every batch: one line of it in so long. */
const troublePauseMs = 10_000;

/** What may wait for a slow reader of the log; lines past it are lost, and the server goes on. */
const unreadBytesMax = 2 ** 20;

const pathCharactersMax = 200;

const endMsMax = 1_000;

export class Log {
  readonly #logger: Logger;
  readonly #access: FixedWindowLimiter;
  readonly #storeTrouble: FixedWindowLimiter;
  readonly #waitTrouble: FixedWindowLimiter;
  readonly #tokenTrouble: FixedWindowLimiter;
  readonly #traceTrouble: FixedWindowLimiter;
  readonly #connectionTrouble: Readonly<Record<"public" | "admin", FixedWindowLimiter>>;
  readonly #providerTrouble: FixedWindowLimiter;
  readonly #now: Clock;
  readonly #end: Lines["end"];
  readonly #giveUp: Lines["giveUp"];
  #hasEnded = false;

  constructor({ format, level, accessLinesPerSecond, now }: LogOptions) {
    const { stream, end, giveUp } = format === "json" ? jsonLines() : readableLines();
    this.#end = end;
    this.#giveUp = giveUp;
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
    this.#access = new FixedWindowLimiter(accessLinesPerSecond, 1_000);
    this.#storeTrouble = new FixedWindowLimiter(1, troublePauseMs);
    this.#waitTrouble = new FixedWindowLimiter(1, troublePauseMs);
    this.#tokenTrouble = new FixedWindowLimiter(1, troublePauseMs);
    this.#traceTrouble = new FixedWindowLimiter(1, troublePauseMs);
    this.#connectionTrouble = {
      public: new FixedWindowLimiter(1, troublePauseMs),
      admin: new FixedWindowLimiter(1, troublePauseMs),
    };
    this.#providerTrouble = new FixedWindowLimiter(1, troublePauseMs);
  }

  handle(event: ServerEvent): void {
    if (this.#hasEnded) return;
    switch (event.kind) {
      case "answered":
        this.#answered(event.exchange);
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
      case "certificateInUse":
        this.#logger.info(
          { subject: event.subject, expires: new Date(event.expiresAt).toISOString() },
          "new connections get this certificate",
        );
        break;
      case "certificateReloadFailed":
        this.#logger.warn(
          { reason: event.reason },
          "the new certificate cannot be used; the one before it stays in use",
        );
        break;
      case "storeUnavailable":
        this.#troubled(
          this.#storeTrouble,
          { reason: event.reason },
          "the store cannot be used at present; requests are answered 503 until it can",
        );
        break;
      case "storeWaiting":
        this.#troubled(
          this.#waitTrouble,
          { reason: event.waitingFor },
          "waiting for the store, which does not answer",
        );
        break;
      case "tokenReloadFailed":
        this.#troubled(
          this.#tokenTrouble,
          { reason: event.reason },
          "the tokens cannot be read at present; those that are known go on being accepted",
        );
        break;
      case "traceExportFailed":
        this.#troubled(
          this.#traceTrouble,
          { reason: event.reason },
          "traces could not be sent, and are lost",
        );
        break;
      case "connectionsShed":
        this.#troubled(
          this.#connectionTrouble[event.listener],
          { listener: event.listener, reason: `${event.open} are open` },
          "there are too many connections; idle ones are closed, and others after their next answer",
        );
        break;
      case "descriptorsScarce":
        this.#logger.warn(
          { limit: event.limit, needed: event.needed },
          "the limit on open files is too low for the connections allowed; raise it, or lower --connections-max",
        );
        break;
      case "lastUsedWriteFailed":
        this.#logger.warn(
          { reason: event.reason },
          "when tokens were last used could not be stored; nothing else depends on it",
        );
        break;
      case "endedTokensUnremoved":
        this.#logger.warn(
          { reason: event.reason },
          "tokens that ended long ago could not be removed; nothing else depends on it",
        );
        break;
      case "jwksRefreshFailed":
        this.#troubled(
          this.#providerTrouble,
          { reason: event.reason },
          "the identity provider's keys cannot be used at present; those read before go on being accepted",
        );
        break;
      case "storeFailed":
        this.#logger.error({ reason: event.reason }, "the store has failed, and the server ends");
        break;
      case "fault":
        this.#logger.error(
          { requestId: event.requestId, ...described(event.error) },
          "a fault of the program",
        );
        break;
      case "stopping":
        this.#logger.info({ signal: event.signal }, "stopping: what was accepted is answered first");
        break;
      case "forcedExit":
        this.#logger.warn({ signal: event.signal }, "a second signal: the server ends at once");
        break;
      case "stopped":
        this.#logger.info("stopped");
        break;
      case "committed":
        break;
    }
  }

  /**
   * Writes what still waits, and resolves with whether that came to an end: a reader that hangs is waited for a
   * second. Nothing is logged any more.
   */
  end(): Promise<boolean> {
    this.#hasEnded = true;
    const written = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      this.#giveUp();
      written.resolve(false);
    }, endMsMax);
    this.#end(() => {
      clearTimeout(timer);
      written.resolve(true);
    });
    return written.promise;
  }

  #answered(exchange: Readonly<RequestRecord>): void {
    const leftOut = this.#access.tryAcquire(exchange.endedAt);
    if (leftOut === undefined) return;
    const { requestId, method, status, result, caller, startedAt, endedAt } = exchange;
    const path = exchange.path.slice(0, pathCharactersMax);
    const fields = {
      requestId,
      method,
      path,
      status,
      ...(result in errorRegistry ? { error: errorNumber(result) } : { result }),
      token: caller,
      ms: Number((endedAt - startedAt).toFixed(3)),
      leftOut: leftOut === 0 ? undefined : leftOut,
    };
    this.#logger.info(fields, `${method} ${path} ${status}`);
  }

  #troubled(allowance: FixedWindowLimiter, fields: Readonly<Record<string, string>>, message: string): void {
    const leftOut = allowance.tryAcquire(this.#now());
    if (leftOut === undefined) return;
    this.#logger.warn({ ...fields, leftOut: leftOut === 0 ? undefined : leftOut }, message);
  }
}

interface Lines {
  readonly stream: DestinationStream;
  readonly end: (whenWritten: () => void) => void;
  readonly giveUp: () => void;
}

function jsonLines(): Lines {
  const stream = pino.destination({ fd: 2, sync: false, maxLength: unreadBytesMax });
  // Whoever reads the log may go away; the server does not go with them.
  let readerIsGone = false;
  stream.on("error", () => {
    readerIsGone = true;
  });
  const end = (whenWritten: () => void) => {
    if (readerIsGone) return whenWritten();
    stream.once("close", whenWritten);
    stream.once("error", whenWritten);
    stream.end();
  };
  // Else pino would wait for the reader once more when the process exits.
  return { stream, end, giveUp: () => stream.destroy() };
}

function readableLines(): Lines {
  const stream = pretty({ destination: 2, sync: true, singleLine: true, translateTime: "SYS:HH:MM:ss.l" });
  stream.on("error", () => undefined);
  return { stream, end: (whenWritten) => stream.end(whenWritten), giveUp: () => stream.destroy() };
}

function settingEntry({ name, value, source }: { name: string; value: unknown; source: string }) {
  return [name, { value, source }] as const;
}

function errorNumber(code: string): number {
  return errorRegistry[code as keyof typeof errorRegistry].error;
}

/** Without the other properties of an error: a database's holds the row that it failed on. */
function described(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined };
}
