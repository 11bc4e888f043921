// Serves the console, a page for operators, and its API. What it records of the running server is
// here; its routes are loaded with the first visit.

import type { AdminRoutes } from "../admin/admin-server.ts";
import type { ConsoleOptions, ConsoleState } from "./console-app.ts";
import { Reader } from "./reads/reader.ts";
import { RecentRequests } from "./reads/recent-requests.ts";
import { CollectionSamples } from "./reads/recent-samples.ts";
import { Sessions } from "./session/sessions.ts";

const recentRequestsMax = 1_000;

/** A start has done its work by then. */
const readerDelayMs = 500;

export class OperatorConsole implements AdminRoutes {
  readonly paths = ["/", "/console", "/console/*"];
  readonly #options: ConsoleOptions;
  readonly #state: ConsoleState;
  readonly #resources = new AsyncDisposableStack();
  #app: ReturnType<typeof import("./console-app.ts").consoleApp> | undefined;

  constructor(options: ConsoleOptions) {
    const { store, events, now, passwordHash } = options;
    this.#options = options;
    const reader = new Reader(store);
    this.#resources.defer(() => reader.close());
    // Opened when the server has started, and not with the first visit: on SQLite it is a thread, and
    // Bun exits if a thread starts when no descriptor is free. A failure is reported by the call that
    // needs the connection.
    const opening = setTimeout(() => reader.open().catch(() => undefined), readerDelayMs);
    this.#resources.defer(() => clearTimeout(opening));
    const samples = new CollectionSamples(store.contract, now(), Date.now());
    events.subscribe(({ kind }) => {
      if (kind === "contractChanged") this.#useContract();
    });
    const requests = new RecentRequests(recentRequestsMax, now);
    for (const counter of [samples, requests]) events.subscribe((event) => counter.handle(event));
    const sessions = new Sessions({ passwordHash, now });
    this.#state = { samples, requests, sessions, reader };
  }

  /** The sessions of those who have given the console's password. */
  get sessions(): Sessions {
    return this.#state.sessions;
  }

  async handle(request: Request, peer: string): Promise<Response> {
    // A server starts 4 ms earlier without it.
    const { consoleApp } = await import("./console-app.ts");
    this.#app ??= consoleApp(this.#options, this.#state, this.#resources);
    return this.#app.fetch(request, { peer });
  }

  /** Makes the routes for the contract of the store anew, with the next visit. */
  #useContract(): void {
    this.#state.samples.follow(this.#options.store.contract);
    this.#app = undefined;
    // It reads by the former contract.
    this.#state.reader.close().catch(() => undefined);
  }

  /** Ends a running import after the batch that is being committed. */
  async stopImport(): Promise<void> {
    await this.#state.imports?.stop();
  }

  /** Call it when the server has stopped, before the store is closed. */
  close(): Promise<void> {
    return this.#resources.disposeAsync();
  }
}
