// Lets requests in, but for the time in which a sandbox is reset.

export class RequestGate {
  readonly #inFlight = new Set<Promise<unknown>>();
  /** The resets that have begun. It does not reject. */
  #resetting: Promise<void> | undefined;
  #discarding = new AbortController();

  /** Aborted by the next reset: requests that wait are not processed any more. */
  get signal(): AbortSignal {
    return this.#discarding.signal;
  }

  /** Handles a request, after the resets that have begun. */
  handle(handle: () => Promise<Response>): Promise<Response> {
    const handled = this.#resetting === undefined ? handle() : this.#resetting.then(handle);
    this.#inFlight.add(handled);
    return handled.finally(() => this.#inFlight.delete(handled));
  }

  /** Makes a change when the server is done with all requests so far. New requests wait for it. */
  async reset(change: () => Promise<void>): Promise<void> {
    const begun = Promise.allSettled(this.#inFlight);
    this.#discarding.abort();
    this.#discarding = new AbortController();
    const changed = Promise.all([this.#resetting, begun]).then(change);
    const resetting = changed.catch(() => undefined);
    this.#resetting = resetting;
    await resetting;
    if (this.#resetting === resetting) this.#resetting = undefined;
    await changed;
  }
}
