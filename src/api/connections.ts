// How many connections are open, and fewer of them where there are too many.
//
// Bun tells of no connection that is opened or closed, so they are counted as the process's file descriptors. Nobody
// is refused for being one too many, as whoever holds thousands of connections would then keep all others out: idle
// connections are closed, and the busy ones after their next answer. One that never sends a request is cut off by Bun
// after 12 seconds.

import { readdirSync } from "node:fs";

export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Closes connections that are idle. */
  readonly closeIdle: () => void;
  readonly observeShedding: (open: number) => void;
}

/** Counting 10,000 takes 4 ms. */
const countEveryMs = 500;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #descriptorsBefore: number;
  readonly #timer: Timer;
  #isOver = false;

  /** To be made when everything is open but the connections. */
  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    this.#descriptorsBefore = openDescriptors();
    this.#timer = setInterval(() => this.#look(), countEveryMs);
  }

  /** How many are open, but for some descriptors that the process has opened since it started. */
  get open(): number {
    return Math.max(0, openDescriptors() - this.#descriptorsBefore);
  }

  /** Whether a connection is to be closed after its answer. */
  get areTooMany(): boolean {
    return this.#isOver;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { open } = this;
    this.#isOver = open > this.#limits.connectionsMax;
    if (!this.#isOver) return;
    this.#limits.closeIdle();
    this.#limits.observeShedding(open);
  }
}

function openDescriptors(): number {
  try {
    return readdirSync("/dev/fd").length;
  } catch {
    // There is no such folder on Windows, or no descriptor left to look into it with: the system's own limit holds.
    return 0;
  }
}
