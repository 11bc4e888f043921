// A listener that is not a Plant Store: it never responds.

import { PlantStoreClient, type PlantStoreClientOptions } from "../../../packages/client/src/index.ts";

/** Accepts TCP connections and is silent, or says one thing and is silent then. */
export class SilentListener implements Disposable {
  connections = 0;
  readonly #listener;
  readonly #requested = Promise.withResolvers<void>();

  constructor(words = "") {
    this.#listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: () => {
          this.connections++;
        },
        data: (socket) => {
          if (words !== "") socket.write(words);
          this.#requested.resolve();
        },
      },
    });
  }

  client(options: Partial<PlantStoreClientOptions> = {}): PlantStoreClient {
    return new PlantStoreClient({
      baseUrl: `http://127.0.0.1:${this.#listener.port}`,
      token: "pst_x",
      ...options,
    });
  }

  /** Resolves when a request has arrived. */
  get requested(): Promise<void> {
    return this.#requested.promise;
  }

  [Symbol.dispose](): void {
    this.#listener.stop(true);
  }
}
