// The first handler of a sandbox: tells the pipe which requests there are, and holds them back
// while the sandbox is reset.

import { type Connection, type Handler, inProcess } from "../core/http/handler.ts";
import type { ForcedOutcomes } from "./forced-outcomes.ts";
import type { Pipe } from "./pipe.ts";

export class RecordedHandler {
  /** Undefined before the public port is open. */
  pipe: Pipe | undefined;
  readonly #next: Handler;
  readonly #outcomes: ForcedOutcomes;
  readonly #inFlight = new Set<Promise<unknown>>();
  /** The resets that have begun. It does not reject. */
  #resetting: Promise<void> | undefined;

  constructor(next: Handler, outcomes: ForcedOutcomes) {
    this.#next = next;
    this.#outcomes = outcomes;
  }

  readonly handle: Handler = (request, connection) => {
    const handled =
      connection === inProcess
        ? this.#handleLater(() => this.#next(request, connection))
        : this.#begin(request, connection);
    this.#inFlight.add(handled);
    return handled.finally(() => this.#inFlight.delete(handled));
  };

  /**
   * Closes the connections of all requests that have begun, waits until the server is done with
   * them, and then makes a change. New requests wait for it.
   */
  async reset(change: () => Promise<void>): Promise<void> {
    const begun = [...this.#inFlight];
    this.pipe?.discardUnfinished();
    this.#outcomes.discardDelayed();
    const changed = Promise.all([this.#resetting, Promise.allSettled(begun)]).then(change);
    const resetting = changed.catch(() => undefined);
    this.#resetting = resetting;
    await resetting;
    if (this.#resetting === resetting) this.#resetting = undefined;
    await changed;
  }

  #begin(request: Request, connection: Connection): Promise<Response> {
    const exchange = this.pipe?.begin(request, connection.clientPort(request));
    // The address of the listener behind the pipe is not the one that clients connect to.
    const own = { ...connection, origin: this.pipe?.origin ?? connection.origin };
    return this.#handleLater(() =>
      // Nobody waits for it, and a reset must not.
      exchange === undefined || exchange.isClosed
        ? Promise.resolve(new Response(null, { status: 503 }))
        : this.#outcomes.handle(request, own, exchange),
    );
  }

  #handleLater(handle: () => Promise<Response>): Promise<Response> {
    return this.#resetting === undefined ? handle() : this.#resetting.then(handle);
  }
}
