// The process of a server: its log, its signals, its traces, and its end.

import packageJson from "../../package.json";
import { Log } from "../core/observability/log.ts";
import { type Clock, type ServerEvent, ServerEvents } from "../core/observability/server-event.ts";
import { textStyle } from "../core/observability/terminal.ts";
import { Tracing } from "../core/observability/tracing.ts";
import type { StoreEvents } from "../core/store/plant-store.ts";
import { redactPasswords } from "./config/redact.ts";
import type { EffectiveSetting, ServeConfig } from "./config/resolve.ts";
import { host } from "./host.ts";
import { waitForStopSignal } from "./signals.ts";

/** The settings of the command, for the log: all of them, and changed ones as flags. */
export interface ConfiguredSettings {
  readonly settings: readonly EffectiveSetting[];
  readonly changed: readonly string[];
}

/** Time to close the store, which may wait for a database or a disk that hangs. */
const closeSecondsMax = 30;

export class ServerProcess implements AsyncDisposable {
  readonly events: ServerEvents;
  /** Resolves with the first signal. A second one ends the process at once. */
  readonly stopSignal: Promise<string>;
  /** Closed in reverse order when the process ends, also if the start fails. */
  readonly resources: AsyncDisposableStack;
  readonly storeEvents: StoreEvents;
  readonly #end: { isInOrder: boolean };
  readonly #drainSecondsMax: number;
  readonly #exit: (reason: ServerEvent) => void;
  #closeTimer: NodeJS.Timeout | undefined;

  private constructor(
    events: ServerEvents,
    stopSignal: Promise<string>,
    storeEvents: StoreEvents,
    resources: AsyncDisposableStack,
    end: { isInOrder: boolean },
    drainSecondsMax: number,
    exit: (reason: ServerEvent) => void,
  ) {
    this.#drainSecondsMax = drainSecondsMax;
    this.#exit = exit;
    this.events = events;
    this.stopSignal = stopSignal;
    this.storeEvents = storeEvents;
    this.resources = resources;
    this.#end = end;
  }

  static async start(config: ServeConfig, now: Clock): Promise<ServerProcess> {
    const { error, output, environment, log: logOutput, signals, exit } = host();
    const onTerminal = error.isTTY;
    const log = new Log({
      format: config.logFormat === "auto" ? (onTerminal ? "pretty" : "json") : config.logFormat,
      style: textStyle(onTerminal, environment),
      hasBanner: onTerminal && output.columns !== undefined,
      level: config.logLevel,
      accessLinesPerSecond: config.accessLog,
      now,
      output: logOutput,
    });
    const events = new ServerEvents();
    events.subscribe((event) => log.handle(event));
    const { emit } = events;

    // Set up before anything slow. Exiting loses nothing: acknowledged plants are on disk.
    const exitImmediately = (reason: ServerEvent) => {
      emit(reason);
      void log.end().then(() => exit(1));
    };
    const stopSignal = waitForStopSignal(signals, now, (signal) =>
      exitImmediately({ kind: "forcedExit", signal }),
    );

    await using resources = new AsyncDisposableStack();
    const end = { isInOrder: false };
    resources.defer(async () => {
      if (end.isInOrder) emit({ kind: "stopped" });
      // Log lines that are not read would keep the process running.
      if (!(await log.end())) exit();
    });
    const { otlpEndpoint } = config;
    if (otlpEndpoint !== undefined) {
      const tracing = await Tracing.start({
        endpoint: otlpEndpoint,
        version: packageJson.version,
        now,
        wallNow: Date.now,
        onExportFailed: (reason) => emit({ kind: "traceExportFailed", reason: redactPasswords(reason) }),
      });
      events.subscribe((event) => tracing.handle(event));
      resources.defer(() => tracing.end());
    }
    const storeEvents: StoreEvents = {
      onUnavailable: (reason) => emit({ kind: "storeUnavailable", reason }),
      onDegraded: (reason) => emit({ kind: "storeDegraded", reason }),
      onFailed: ({ message }) => exitImmediately({ kind: "storeFailed", reason: message }),
    };
    return new ServerProcess(
      events,
      stopSignal,
      storeEvents,
      resources.move(),
      end,
      config.drainSecondsMax,
      exitImmediately,
    );
  }

  /** Logs a start, after the listeners are open: a failed start prints only its error. */
  logStart(
    { settings, changed }: ConfiguredSettings,
    { url, adminUrl }: { readonly url: string; readonly adminUrl: string | undefined },
  ): void {
    const { emit } = this.events;
    emit({ kind: "configured", version: packageJson.version, settings, changed });
    if (adminUrl !== undefined) emit({ kind: "listening", listener: "admin", url: adminUrl });
    emit({ kind: "listening", listener: "public", url });
  }

  /** Waits for the reason to stop, and logs it. The process then ends even if a part hangs. */
  async waitForStop(stopRequest: Promise<string> = this.stopSignal): Promise<void> {
    const signal = await Promise.race([this.stopSignal, stopRequest]);
    const { emit } = this.events;
    emit({ kind: "shuttingDown", signal });
    const reason = `it did not close within ${closeSecondsMax} seconds after the requests had their time`;
    const closeMsMax = (this.#drainSecondsMax + closeSecondsMax) * 1_000;
    this.#closeTimer = setTimeout(() => this.#exit({ kind: "storeFailed", reason }), closeMsMax).unref();
    this.#end.isInOrder = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
    clearTimeout(this.#closeTimer);
  }
}
