// Runs what every server's process has: its log, its signals, its traces, and its end.

import packageJson from "../../package.json";
import { OperatorError } from "../base/operator-error.ts";
import { type Clock, type Notice, type ServerEvent, ServerEvents } from "../base/server-event.ts";
import type { StoreEvents } from "../store/plant-store.ts";
import type { ServerAddresses } from "./banner.ts";
import { redactPasswords } from "./config/redact.ts";
import { type AnyConfig, changedSettings, type ServeSettings } from "./config/resolve.ts";
import { host } from "./host.ts";
import { Log } from "./log/log.ts";
import { hasColours } from "./output.ts";
import { waitForStopSignal } from "./signals.ts";

/** Time to close the store, which may wait for a database or a disk that hangs. */
const closeSecondsMax = 30;

export class ServerProcess implements AsyncDisposable {
  readonly events = new ServerEvents();
  /** Resolves with the first signal. A second one ends the process at once. */
  readonly stopSignal: Promise<string>;
  /** Closed in reverse order when the process ends, also if the start fails. */
  readonly resources = new AsyncDisposableStack();
  readonly storeEvents: StoreEvents;
  readonly #config: ServeSettings;
  readonly #now: Clock;
  readonly #log: Log;
  /** Whether people see the settings and addresses in the banner, so that the log omits them. */
  readonly #hasBanner: boolean;
  readonly #exitProcess: (code?: number) => void;
  /** Rejects when the store has a contract that the server cannot serve. */
  readonly #refused = Promise.withResolvers<never>();
  #isInOrder = false;
  #closeTimer: NodeJS.Timeout | undefined;

  /** Before anything slow, so that signals are received and the log is there. */
  constructor(config: ServeSettings, now: Clock) {
    const { error, output, environment, log, signals, exit } = host();
    const onTerminal = error.isTTY;
    this.#config = config;
    this.#now = now;
    this.#refused.promise.catch(() => undefined);
    this.#exitProcess = exit;
    const format = config.logFormat === "auto" ? (onTerminal ? "pretty" : "json") : config.logFormat;
    this.#hasBanner = format === "pretty" && onTerminal && output.columns !== undefined;
    this.#log = new Log({
      format,
      colours: hasColours(onTerminal, environment),
      level: config.logLevel,
      accessLinesPerSecond: config.accessLog,
      now,
      output: log,
    });
    const { emit } = this.events;
    this.events.subscribe((event) => {
      this.#log.handle(event);
      if (event.kind === "contractRefused") this.#refused.reject(new OperatorError(event.reason));
    });
    this.resources.defer(async () => {
      if (this.#isInOrder) emit(notice("stopped"));
      // Log lines that are not read would keep the process running.
      if (!(await this.#log.end())) exit(this.#isInOrder ? 0 : 1);
    });
    this.stopSignal = waitForStopSignal(signals, now, (signal) =>
      this.#exit(notice("second signal, exiting immediately", { signal })),
    );
    if (config.extend !== undefined) {
      // An error that an operation of one's own does not await, or leaves to a timer, must not end the process.
      const report = (error: unknown) => emit({ kind: "internalError", requestId: "--extend", error });
      for (const event of ["unhandledRejection", "uncaughtException"]) {
        process.on(event, report);
        this.resources.defer(() => void process.off(event, report));
      }
    }
    this.storeEvents = {
      onUnavailable: (reason) => emit({ kind: "storeUnavailable", reason }),
      onTaskFailed: (reason) => emit({ kind: "storeTaskFailed", reason }),
      onFailed: ({ message }) => this.#exit({ kind: "storeFailed", reason: message }),
    };
  }

  async startTracing(): Promise<void> {
    const { otlpEndpoint } = this.#config;
    if (otlpEndpoint === undefined) return;
    const { events } = this;
    const { Tracing } = await import("./log/tracing.ts");
    const tracing = await Tracing.start({
      endpoint: otlpEndpoint,
      version: packageJson.version,
      now: this.#now,
      wallNow: Date.now,
      onExportFailed: (reason) => events.emit({ kind: "traceExportFailed", reason: redactPasswords(reason) }),
    });
    events.subscribe((event) => tracing.handle(event));
    this.resources.defer(() => tracing.end());
  }

  /** Logs a start, after the listeners are open: a failed start prints only its error. */
  logStart(config: AnyConfig, { url, adminUrl }: ServerAddresses): void {
    if (this.#hasBanner) return;
    const { emit } = this.events;
    const changed = changedSettings(config).map(({ flag, source }) => `${flag} (${source})`);
    emit(notice("starting", { version: packageJson.version, settings: changed.join(", ") || "defaults" }));
    if (adminUrl !== undefined) emit(notice("the admin listener is open", { url: adminUrl }));
    emit(notice("the public listener is open", { url }));
  }

  /**
   * Waits for the reason to stop, and logs it. The process then ends even if a part hangs. Rejects with
   * an OperatorError if the reason is a contract that cannot be served.
   */
  async waitForStop(stopRequest: Promise<string> = this.stopSignal): Promise<void> {
    const { emit } = this.events;
    try {
      const signal = await Promise.race([this.stopSignal, stopRequest, this.#refused.promise]);
      emit(notice("shutting down, draining requests", { signal }));
      this.#isInOrder = true;
    } finally {
      this.#limitClosing();
    }
  }

  #limitClosing(): void {
    const reason = `it did not close within ${closeSecondsMax} seconds after the requests had their time`;
    const closeMsMax = (this.#config.drainSecondsMax + closeSecondsMax) * 1_000;
    this.#closeTimer = setTimeout(() => this.#exit({ kind: "storeFailed", reason }), closeMsMax).unref();
  }

  /** Exiting at once loses nothing: acknowledged plants are on disk. */
  #exit(reason: ServerEvent): void {
    this.events.emit(reason);
    void this.#log.end().then(() => this.#exitProcess(1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
    clearTimeout(this.#closeTimer);
    // An export of traces that was given up would keep the process running.
    if (this.#isInOrder) this.#exitProcess(0);
  }
}

function notice(message: string, fields: NonNullable<Notice["fields"]> = {}): Notice {
  return { kind: "notice", message, fields };
}
