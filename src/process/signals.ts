// Handles SIGINT, SIGTERM and SIGHUP: the first one ends a command in order, a later one at once.

import { readFileSync } from "node:fs";
import { host, type Signals } from "./host.ts";

/** npm forwards a signal that the terminal has also sent: two within this time count as one. */
const sameSignalMs = 200;

/** SIGHUP: the terminal was closed; nohup ignores that. */
function stopSignals(): readonly NodeJS.Signals[] {
  return ["SIGINT", "SIGTERM", ...(isHangUpIgnored() ? [] : ["SIGHUP" as const])];
}

/** Resolves with the first signal from now on. Any later one calls `onSecond`. */
export function waitForStopSignal(
  signals: Signals,
  now: () => number,
  onSecond: (signal: string) => void,
): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const receive = (signal: string) => {
      firstAt ??= now();
      if (now() - firstAt > sameSignalMs) onSecond(signal);
      resolve(signal);
    };
    for (const signal of stopSignals()) signals.on(signal, receive);
  });
}

/** Whether the process was started with SIGHUP ignored, which only Linux tells. */
function isHangUpIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    return mask === undefined || (Number.parseInt(mask.slice(-1), 16) & 1) === 1;
  } catch {
    // There is no such file.
    return true;
  }
}

/** Aborted by the first signal. The second one has its default action, which ends the process. */
export class InterruptSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #signals = host().signals;
  readonly #names = stopSignals();
  readonly #abort = () => {
    this[Symbol.dispose]();
    this.#controller.abort();
  };

  constructor() {
    for (const signal of this.#names) this.#signals.on(signal, this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const signal of this.#names) this.#signals.off(signal, this.#abort);
  }
}
