// What a client may meet instead of a Plant Store: a listener that never answers, and one that
// answers as a proxy might.

import { PlantStoreClient, type PlantStoreClientOptions } from "../../../packages/client/src/index.ts";

abstract class Listener {
  abstract readonly url: string;

  client(options: Partial<PlantStoreClientOptions> = {}): PlantStoreClient {
    return new PlantStoreClient({ baseUrl: this.url, token: "pst_x", ...options });
  }
}

/** Accepts TCP connections and is silent, or says one thing and is silent then. */
export class SilentListener extends Listener implements Disposable {
  readonly url: string;
  connections = 0;
  readonly #listener;
  readonly #connected = Promise.withResolvers<void>();

  constructor(words = "") {
    super();
    this.#listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: () => {
          this.connections++;
        },
        data: (socket) => {
          if (words !== "") socket.write(words);
          this.#connected.resolve();
        },
      },
    });
    this.url = `http://127.0.0.1:${this.#listener.port}`;
  }

  /** Resolves when a request has arrived. */
  get requested(): Promise<void> {
    return this.#connected.promise;
  }

  [Symbol.dispose](): void {
    this.#listener.stop(true);
  }
}

/** Gives its answers one after the other, the last one again and again; counts the requests. */
export class CannedListener extends Listener implements Disposable {
  readonly url: string;
  requests = 0;
  readonly #listener;

  constructor(...answers: readonly (readonly [body: string, init?: ResponseInit])[]) {
    super();
    this.#listener = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        const [body, init] = answers[Math.min(this.requests++, answers.length - 1)] ?? [""];
        return new Response(body, init);
      },
    });
    this.url = `http://127.0.0.1:${this.#listener.port}`;
  }

  [Symbol.dispose](): void {
    void this.#listener.stop(true);
  }
}
