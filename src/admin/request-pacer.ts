// Requests to the admin listener, a few started in each turn of the event loop: creates go on between them, however
// many there are and whatever each of them costs.

/** A scrape takes a millisecond, most others far less. */
const startsPerTurn = 4;

export class RequestPacer {
  readonly #atEndOfTurn: (run: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  #starts = 0;

  /** @param atEndOfTurn such as setImmediate. */
  constructor(atEndOfTurn: (run: () => void) => void) {
    this.#atEndOfTurn = atEndOfTurn;
  }

  /** Handles a request in its turn; one whose client has left by then is not handled. */
  async run(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    if (this.#starts === 0) this.#atEndOfTurn(() => this.#next());
    if (this.#starts < startsPerTurn) this.#starts++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return request.signal.aborted ? new Response() : handle();
  }

  #next(): void {
    const started = this.#waiting.splice(0, startsPerTurn);
    this.#starts = started.length;
    if (started.length > 0) this.#atEndOfTurn(() => this.#next());
    for (const start of started) start();
  }
}
