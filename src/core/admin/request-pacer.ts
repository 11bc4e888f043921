// Paces the requests of the admin listener, so that its clients cannot slow creates.

/** A scrape takes a millisecond, most other requests less. */
const startIntervalMs = 2;

export class RequestPacer {
  #nextStartAt = Number.NEGATIVE_INFINITY;

  /** Handles a request, an interval after the one before, unless its client has left by then. */
  async run(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    const now = performance.now();
    const startAt = Math.max(now, this.#nextStartAt);
    this.#nextStartAt = startAt + startIntervalMs;
    if (startAt > now) await Bun.sleep(startAt - now);
    return request.signal.aborted ? new Response() : handle();
  }
}
