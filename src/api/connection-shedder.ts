// How many connections each listener has, and fewer of them where there are too many.
//
// Nobody is refused for being one too many, as whoever holds thousands of connections would then keep all others out:
// idle connections are closed, those that have sent nothing for a second, and busy ones after their next answer. Bun
// cuts off a head that takes more than 12 seconds. Where that is not enough (descriptors run out, or the listener has
// a bound that holds at once), the connections that have been silent longest are shut down.

import { ProcessSockets } from "./process-sockets.ts";

/** A listener whose connections are counted. */
export interface CountedListener {
  readonly port: () => number;
  readonly connectionsMax: number;
  /** Whether what is over the bound is shut down at once, busy or not. */
  readonly isStrict: boolean;
  /** Closes connections that are idle. */
  readonly closeIdle: () => void;
  readonly observeShedding: (open: number) => void;
}

/** What the connections of one listener have come to. */
export interface ConnectionCount {
  /** How many are open now. */
  readonly open: number;
  /** Whether a connection is to be closed after its answer. */
  readonly isOverLimit: boolean;
  /** To be called when the listener has been opened anew. */
  reopened(): void;
  stop(): void;
}

/** Counting 10,000 takes 8 ms, and is left out while the process has fewer descriptors open than any bound. */
const countEveryMs = 500;

/** While descriptors run out: a listener that cannot accept for want of one makes Bun's loop spin. */
const countEveryMsAtLimit = 50;

/** A connection that has sent nothing for so long is no request that crosses its closing. */
const silentMsMax = 1_000;

/** Descriptors that connections are not to take: the store, a thread that opens it once more, certificates, sockets to a database. */
const descriptorsReserved = 64;

/**
 * What the system may buffer of the answers on a connection (Linux doubles it for its own needs). By itself it lets a
 * buffer grow to 4 MB: 200 connections that read nothing took 760 MB of its memory, with this bound 49.
 */
const sendBufferBytes = 64 * 2 ** 10;

export class ConnectionShedder {
  readonly #sockets = ProcessSockets.open();
  readonly #descriptorsMax = this.#sockets?.descriptorsMax ?? Number.POSITIVE_INFINITY;
  /** A process with hardly any descriptors has a reserve all the same. */
  readonly #ceiling = this.#descriptorsMax - Math.min(descriptorsReserved, this.#descriptorsMax >> 2);
  readonly #listeners = new Map<CountedListener, { isOver: boolean }>();
  #timer: Timer | undefined;

  /** How many descriptors the process may have, and needs for its listeners; undefined where they are enough. */
  get shortage(): { readonly limit: number; readonly needed: number } | undefined {
    const connections = [...this.#listeners.keys()].reduce(
      (sum, { connectionsMax }) => sum + connectionsMax,
      0,
    );
    const needed = connections + 2 * descriptorsReserved;
    return needed > this.#descriptorsMax ? { limit: this.#descriptorsMax, needed } : undefined;
  }

  /** Counts a listener's connections, and sheds them past its bound, until that is stopped. */
  watch(listener: CountedListener): ConnectionCount {
    const state = { isOver: false };
    this.#listeners.set(listener, state);
    this.#timer ??= this.#schedule(countEveryMs);
    const boundBuffers = () => this.#sockets?.boundSendBuffers(listener.port(), sendBufferBytes);
    boundBuffers();
    const open = () => this.#connections().get(listener.port())?.length ?? 0;
    return {
      get open() {
        return open();
      },
      get isOverLimit() {
        return state.isOver;
      },
      reopened: boundBuffers,
      stop: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        clearTimeout(this.#timer);
        this.#timer = undefined;
      },
    };
  }

  #schedule(ms: number): Timer {
    return setTimeout(() => {
      const isAtLimit = this.#check();
      this.#timer = this.#schedule(isAtLimit ? countEveryMsAtLimit : countEveryMs);
    }, ms);
  }

  /** Whether descriptors run out. */
  #check(): boolean {
    const descriptors = this.#sockets?.descriptorsOpen;
    const bounds = Array.from(this.#listeners.keys(), ({ connectionsMax }) => connectionsMax);
    if (descriptors !== undefined && descriptors <= Math.min(this.#ceiling, ...bounds)) {
      for (const state of this.#listeners.values()) state.isOver = false;
      return false;
    }
    const connections = this.#connections();
    const open = descriptors ?? connections.values().reduce((sum, { length }) => sum + length, 0);
    const excess = Math.max(0, open - this.#ceiling);
    for (const [listener, state] of this.#listeners) {
      const own = connections.get(listener.port()) ?? [];
      // A strict listener leaves most of the descriptors to the others.
      const max = listener.isStrict
        ? Math.min(listener.connectionsMax, this.#ceiling >> 2)
        : listener.connectionsMax;
      state.isOver = own.length > max || (excess > 0 && !listener.isStrict);
      if (!state.isOver) continue;
      this.#shed(listener, own, listener.isStrict ? max : own.length - excess);
      listener.observeShedding(own.length);
    }
    return excess > 0;
  }

  /** Closes what nobody waits for, and then others until so many are left. */
  #shed(listener: CountedListener, connections: readonly number[], most: number): void {
    const sockets = this.#sockets;
    if (sockets === undefined) return;
    listener.closeIdle();
    const left: { readonly fd: number; readonly silentMs: number }[] = [];
    for (const fd of connections) {
      const activity = sockets.activity(fd);
      if (activity === undefined) continue;
      if (activity.hasReceived || activity.silentMs < silentMsMax)
        left.push({ fd, silentMs: activity.silentMs });
      else sockets.shutDown(fd);
    }
    if (left.length <= most) return;
    left.sort((a, b) => b.silentMs - a.silentMs);
    for (const { fd } of left.slice(0, left.length - most)) sockets.shutDown(fd);
  }

  #connections(): Map<number, number[]> {
    return (
      this.#sockets?.connectionsTo(Array.from(this.#listeners.keys(), ({ port }) => port())) ?? new Map()
    );
  }
}
