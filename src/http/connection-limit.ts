// Limits the open connections of a server. Over the limit, connections that wait for their next
// request are closed, and busy ones after their next response. Rejecting new connections instead
// would let a client with thousands of open ones lock out all others. Bun closes connections whose
// head takes more than 12 seconds, and idle ones. Bun does not report connections, so they are
// counted as the descriptors that the process has opened since its start.

import { statSync } from "node:fs";

export interface ConnectionLimitOptions {
  readonly connectionsMax: number;
  readonly closeIdle: () => void;
  /** Called with the number of open connections whenever some are closed. */
  readonly onExceeded: (open: number) => void;
}

const countIntervalMs = 500;

export class ConnectionLimit {
  /** Whether connections are closed after their next response. A field: it is read each time. */
  isExceeded = false;
  readonly #options: ConnectionLimitOptions;
  readonly #descriptorsAtStart = openDescriptors();
  readonly #timer: Timer;

  /** Starts to count. Create it before the listeners are opened. */
  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), countIntervalMs).unref();
  }

  /** Counts the connections of all listeners; undefined if it cannot (before Linux 6.2). */
  get open(): number | undefined {
    const descriptors = openDescriptors();
    if (descriptors === undefined || this.#descriptorsAtStart === undefined) return undefined;
    return Math.max(0, descriptors - this.#descriptorsAtStart);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { open } = this;
    this.isExceeded = open !== undefined && open > this.#options.connectionsMax;
    if (open === undefined || !this.isExceeded) return;
    this.#options.closeIdle();
    this.#options.onExceeded(open);
  }
}

function openDescriptors(): number | undefined {
  try {
    return statSync("/proc/self/fd").size || undefined;
  } catch {
    // Only Linux has this folder.
    return undefined;
  }
}
