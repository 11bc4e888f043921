// A client of the console's API that sends the requests of its page.

import type { ServerEvent } from "../../src/base/server-event.ts";
import type { ConsoleContext } from "../../src/console/console-context.ts";
import type { Collection } from "../../src/contract/contract.ts";
import type { PlantId } from "../../src/contract/plant-id.ts";
import { idMaker } from "../../src/plants/new-ids.ts";
import { MemoryStore } from "../../src/sandbox/memory-store.ts";
import { toEntries } from "../../src/store/plant-store.ts";
import { type PlantLike, plantStore, readSingle, type SingleContract, toPlants } from "./contracts.ts";
import { objectOf, thingsDocument } from "./descriptions.ts";
import { type Answer, send } from "./http.ts";
import type { RunningServer } from "./server.ts";

/** The context of a part of the console that uses only what is given. */
export function consoleContext({
  store,
  ...given
}: Partial<Omit<ConsoleContext, "store">> & { store: Partial<ConsoleContext["store"]> }): ConsoleContext {
  return {
    store: store as ConsoleContext["store"],
    collection: plantStore,
    newId: () => 1n,
    reader: () => Promise.reject(new Error("nothing is read")),
    emit: () => undefined,
    countCreated: () => undefined,
    now: () => performance.now(),
    bodyBytesMax: 1_000,
    ...given,
  };
}

/** The context of parts of the console on a store in memory, and the events that they emit. */
export class MemoryContext implements ConsoleContext, AsyncDisposable {
  readonly store: MemoryStore;
  readonly collection: Collection;
  readonly newId: () => PlantId;
  readonly bodyBytesMax = 1_000;
  readonly emitted: ServerEvent[] = [];
  created = 0;
  readonly #reader: ReturnType<MemoryStore["openSql"]>;

  readonly reader = () => this.#reader;
  readonly emit = (event: ServerEvent) => void this.emitted.push(event);
  readonly countCreated = (created: number) => {
    this.created += created;
  };
  readonly now = () => performance.now();

  constructor(collection: SingleContract = plantStore) {
    this.collection = collection;
    this.newId = idMaker(collection.id.format ?? "int64", Date.now, 0);
    this.store = new MemoryStore(collection, () => undefined);
    this.#reader = this.store.openSql();
  }

  /** Stores plants, in one batch. */
  static async of(plants: readonly PlantLike[]): Promise<MemoryContext> {
    const context = new MemoryContext();
    await context.store.create(toEntries(plantStore, toPlants(plants)));
    return context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#reader)[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
  }
}

/** The status of the response to a call, which a rejection has. */
export function statusOf(call: Promise<unknown>): Promise<number> {
  return call.then(
    () => 200,
    ({ status }) => status,
  );
}

/** The description of things, which have these properties besides their id. */
export function documentWith(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = [],
  annotations: object = {},
) {
  const schema = objectOf({ id: { type: "integer" }, ...properties }, ["id", ...required]);
  return thingsDocument({ body: { ...schema, ...annotations } });
}

/** Reads the contract of a description of `documentWith`. */
export function contractWith(...description: Parameters<typeof documentWith>): Promise<SingleContract> {
  return readSingle({ text: JSON.stringify(documentWith(...description)) });
}

interface Page<Plant> {
  readonly plants: readonly Plant[];
  /** The id from which the next page continues; null after the last one. */
  readonly next: string | null;
}

export class ConsoleClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  /** @param headers sent with every request, such as the cookie of a session. */
  constructor(adminUrl: string, headers: Record<string, string> = {}) {
    this.#url = `${adminUrl}/console/api`;
    this.#headers = headers;
  }

  static async of(server: RunningServer): Promise<ConsoleClient> {
    return new ConsoleClient(await server.adminUrl());
  }

  read(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return send(`${this.#url}/${path}`, { headers: { ...this.#headers, ...headers } });
  }

  /** Up to 50 plants of a search, read on where it has reached its time limit, as the page does. */
  async plants<Plant>(query: Readonly<Record<string, string>> = {}): Promise<Page<Plant>> {
    const plants: Plant[] = [];
    let { after } = query;
    for (;;) {
      const count = String(50 - plants.length);
      const parameters = { ...query, count, ...(after !== undefined && { after }) };
      const { json } = await this.read(`plants?${new URLSearchParams(parameters)}`);
      const page = json as Page<Plant>;
      plants.push(...page.plants);
      if (page.next === null || plants.length === 50) return { plants, next: page.next };
      after = page.next;
    }
  }

  write(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return send(`${this.#url}/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...this.#headers, ...headers },
      body: new Blob([JSON.stringify(body)]),
    });
  }
}
