// Limits the open connections of all listeners of the process.
//
// No new connection is refused, as a client with thousands of open connections would then lock all others out. Over the
// limit, connections are closed that are idle or have sent nothing for a second, and busy ones after their next response;
// Bun closes those whose head takes more than 12 seconds. Where that is not enough (descriptors run out, or the listener's
// limit is strict), the connections that have been silent longest are shut down.

import { ProcessSockets } from "./process-sockets.ts";

/** A listener whose connections are limited. */
export interface ListenerToShed {
  readonly name: "public" | "admin";
  readonly port: () => number;
  readonly connectionsMax: number;
  /** Whether connections over the limit are shut down at once, busy or not. */
  readonly isStrict: boolean;
  readonly closeIdle: () => void;
  /** Called with the number of open connections whenever some are shed. */
  readonly onShed: (open: number) => void;
}

/** A listener that is being watched. */
export interface ShedListener {
  /** Whether a connection is closed after its response. */
  readonly isOverLimit: boolean;
  /** To be called when the listener has opened another socket. */
  readonly boundSendBuffers: () => void;
  readonly stop: () => void;
}

/** The interval of counting. It takes 8 ms for 10,000 connections, and is skipped while fewer descriptors are open than any limit. */
const countIntervalMs = 500;

/** While descriptors run out: a listener that cannot accept for lack of one makes Bun's event loop spin. */
const countIntervalMsAtLimit = 50;

/** On a connection that has been silent for this long, no request is on its way that crosses the close. */
const silentMsMax = 1_000;

/** Descriptors reserved for the store, a thread that opens it again, certificates, and sockets to a database. */
const descriptorsReserved = 64;

/**
 * The send buffer of a connection (Linux doubles it for its own needs). By default it grows to 4 MB: 200 connections that
 * read nothing took 760 MB of the system's memory, with this bound 49.
 */
const sendBufferBytes = 64 * 2 ** 10;

export class ConnectionShedder {
  readonly #sockets = ProcessSockets.open();
  readonly #descriptorsMax = this.#sockets?.descriptorsMax ?? Number.POSITIVE_INFINITY;
  /** At most a quarter is reserved, where the process may open very few. */
  readonly #ceiling = this.#descriptorsMax - Math.min(descriptorsReserved, this.#descriptorsMax >> 2);
  readonly #listeners = new Map<ListenerToShed, { isOverLimit: boolean }>();
  #timer: Timer | undefined;

  /** The limit on descriptors, and how many the listeners need; undefined where the limit suffices. */
  get shortage(): { readonly limit: number; readonly needed: number } | undefined {
    const connections = [...this.#listeners.keys()].reduce(
      (sum, { connectionsMax }) => sum + connectionsMax,
      0,
    );
    const needed = connections + 2 * descriptorsReserved;
    return needed > this.#descriptorsMax ? { limit: this.#descriptorsMax, needed } : undefined;
  }

  /** The open connections of the listener with a name; 0 where none is watched. */
  openConnections(name: ListenerToShed["name"]): number {
    const listener = [...this.#listeners.keys()].find((each) => each.name === name);
    return listener === undefined ? 0 : (this.#connections().get(listener.port())?.length ?? 0);
  }

  /** Counts a listener's connections, and sheds those over its limit, until it is stopped. */
  watch(listener: ListenerToShed): ShedListener {
    const boundSendBuffers = () => this.#sockets?.boundSendBuffers(listener.port(), sendBufferBytes);
    const stop = () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
    // A field that each count sets, and not a getter: it is read for every response.
    const state = { isOverLimit: false, boundSendBuffers, stop };
    this.#listeners.set(listener, state);
    this.#timer ??= this.#schedule(countIntervalMs);
    boundSendBuffers();
    return state;
  }

  #schedule(ms: number): Timer {
    return setTimeout(() => {
      const isAtLimit = this.#check();
      this.#timer = this.#schedule(isAtLimit ? countIntervalMsAtLimit : countIntervalMs);
    }, ms);
  }

  /** Returns whether descriptors run out. */
  #check(): boolean {
    const descriptors = this.#sockets?.descriptorsOpen;
    const bounds = Array.from(this.#listeners.keys(), ({ connectionsMax }) => connectionsMax);
    if (descriptors !== undefined && descriptors <= Math.min(this.#ceiling, ...bounds)) {
      for (const state of this.#listeners.values()) state.isOverLimit = false;
      return false;
    }
    const connections = this.#connections();
    const open = descriptors ?? connections.values().reduce((sum, { length }) => sum + length, 0);
    const excess = Math.max(0, open - this.#ceiling);
    for (const [listener, state] of this.#listeners) {
      const own = connections.get(listener.port()) ?? [];
      // A strict listener gets at most a quarter of the descriptors.
      const max = listener.isStrict
        ? Math.min(listener.connectionsMax, this.#ceiling >> 2)
        : listener.connectionsMax;
      state.isOverLimit = own.length > max || (excess > 0 && !listener.isStrict);
      if (!state.isOverLimit) continue;
      this.#shed(listener, own, listener.isStrict ? max : own.length - excess);
      listener.onShed(own.length);
    }
    return excess > 0;
  }

  /** Closes idle and silent connections, then the most silent others until at most `connectionsMax` are left. */
  #shed(listener: ListenerToShed, connections: readonly number[], connectionsMax: number): void {
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
    if (left.length <= connectionsMax) return;
    left.sort((a, b) => b.silentMs - a.silentMs);
    for (const { fd } of left.slice(0, left.length - connectionsMax)) sockets.shutDown(fd);
  }

  #connections(): Map<number, number[]> {
    return (
      this.#sockets?.connectionsTo(Array.from(this.#listeners.keys(), ({ port }) => port())) ?? new Map()
    );
  }
}
