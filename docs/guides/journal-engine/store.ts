// The engine "journal": every change is a line of a file, and the plants and tokens are in memory. A change is made in three
// steps: its entry is appended and fsynced, all new entries are read back, and each is applied in the order of the file. So
// every process that has the file open makes the same changes in the same order, and an outcome is known once it is durable.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type NewPlant, toNewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type { EditOutcome, PlantEdit } from "../plant-edit.ts";
import { type IndexStates, indexNames, type PlantIndexes, type PlantReader } from "../plant-reader.ts";
import { findSummaries, searchPlants } from "../plant-search.ts";
import {
  type ExportFilter,
  noCreations,
  type OpenMode,
  type Outcome,
  type ReadablePlantStore,
  type StoreEvents,
  type StoreSize,
} from "../plant-store.ts";
import { type TokenStore, tokenStoreMethods } from "../token-store.ts";
import { type Entry, Journal } from "./journal.ts";
import { Plants } from "./plants.ts";
import { Tokens } from "./tokens.ts";

type Events = Pick<StoreEvents, "onUnavailable" | "onFailed">;

/** A change, whose ids are digits when it has been read from the file; without any of its properties it changes nothing, and only shows that the file can be written. */
interface Change {
  readonly create?: readonly NewPlant[];
  readonly edit?: PlantEdit;
  readonly token?: readonly [method: keyof TokenStore, ...args: unknown[]];
}

const exportPlantsMax = 1_000;

const states = Object.fromEntries(indexNames.map((name) => [name, "none"])) as unknown as IndexStates;

export class JournalStore implements ReadablePlantStore {
  readonly engine = "journal";
  readonly batchesInFlightMax = 1;
  readonly location: string;
  readonly wasCreated: boolean;
  readonly tokens: TokenStore;
  readonly indexes: PlantIndexes = {
    states: async () => states,
    create: async () => {
      throw new OperatorError("a journal has no indexes; use another engine for them");
    },
    drop: async () => undefined,
  };
  readonly #journal: Journal;
  readonly #events: Events;
  readonly #plants = new Plants();
  readonly #tokens = new Tokens();
  /** The results of this process's own changes, by the ids of their entries. */
  readonly #results = new Map<string, unknown>();
  /** The end of the last call: the calls of a process are made one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(journal: Journal, path: string, wasCreated: boolean, events: Events) {
    this.#journal = journal;
    this.location = resolve(path);
    this.wasCreated = wasCreated;
    this.#events = events;
    const methods = Object.entries(tokenStoreMethods).map(([name, access]) => {
      const method = name as keyof TokenStore;
      const call = (...args: unknown[]) =>
        access === "write"
          ? this.#change({ token: [method, ...args] })
          : this.#read(() => this.#call(method, args));
      return [method, call];
    });
    this.tokens = Object.fromEntries(methods) as unknown as TokenStore;
  }

  /** Opens a store, and reads all of it. Rejects with an OperatorError if that fails. */
  static async open(path: string, mode: OpenMode, events: Events): Promise<JournalStore> {
    const wasCreated = !existsSync(path);
    const store = new JournalStore(await Journal.open(path, mode), path, wasCreated, events);
    await store.#read(() => undefined);
    return store;
  }

  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    try {
      return await this.#change({ create: batch });
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      this.#events.onUnavailable(error.message);
      return batch.map(() => "unavailable");
    }
  }

  edit(edit: PlantEdit): Promise<EditOutcome> {
    return this.#change({ edit });
  }

  assertWritable(): Promise<void> {
    return this.#change({});
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#read(() => this.#plants.get(id));
  }

  async *export(filter: ExportFilter): AsyncGenerator<readonly NewPlant[]> {
    if (filter.withCreation) throw noCreations();
    // The plants are never changed in place, so this array is a snapshot.
    const plants = await this.#read(() => this.#plants.select(filter));
    for (let start = 0; start < plants.length; start += exportPlantsMax)
      yield plants.slice(start, start + exportPlantsMax);
  }

  async count(filter: ExportFilter): Promise<number> {
    return (await this.#read(() => this.#plants.select(filter))).length;
  }

  async size(): Promise<StoreSize> {
    return { plants: await this.count({}), bytes: await this.bytesOnDisk(), schemaVersion: 1 };
  }

  bytesOnDisk(): Promise<number> {
    return this.#journal.bytes();
  }

  walBytes(): undefined {
    return undefined;
  }

  async openReader(): Promise<PlantReader> {
    const plants = this.#plants;
    const now = () => performance.now();
    return {
      search: (search) => this.#read(() => searchPlants(plants, async () => states, search, now)),
      withIds: (ids) => this.#read(() => findSummaries(plants, ids)),
      get: (id) => this.get(id),
      creations: async () => [],
      createdSince: async () => undefined,
      countPart: (afterId, plantsMax) => this.#read(() => plants.countPart(afterId, plantsMax)),
      indexStates: async () => states,
      close: async () => undefined,
    };
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#journal.close();
  }

  /** Makes a change, and resolves with its result once it is durable. */
  #change<Result>(change: Change): Promise<Result> {
    return this.#inTurn(async () => {
      const entry: Entry & Change = { id: crypto.randomUUID(), ...change };
      try {
        await this.#journal.append(entry);
      } catch (error) {
        // A server must not go on with pages in memory that are not on the disk.
        if (this.#journal.failure !== undefined) this.#events.onFailed(error as Error);
        throw error;
      }
      this.#results.set(entry.id, undefined);
      await this.#applyNew();
      const result = this.#results.get(entry.id) as Result;
      this.#results.delete(entry.id);
      return result;
    });
  }

  #read<Result>(query: () => Result | Promise<Result>): Promise<Result> {
    return this.#inTurn(async () => {
      await this.#applyNew();
      return query();
    });
  }

  #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(call);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #applyNew(): Promise<void> {
    for (const entry of (await this.#journal.read()) as (Entry & Change)[]) {
      const result = this.#apply(entry);
      if (this.#results.has(entry.id)) this.#results.set(entry.id, result);
    }
  }

  #apply({ create, edit, token }: Change): unknown {
    if (edit !== undefined) return this.#plants.edit({ ...edit, id: BigInt(edit.id) });
    if (token !== undefined) return this.#call(token[0], token.slice(1));
    return create?.map((plant) => this.#plants.create(toNewPlant(BigInt(plant.id), plant)));
  }

  #call(method: keyof TokenStore, args: readonly unknown[]): unknown {
    const step = this.#tokens[method] as (...args: readonly unknown[]) => unknown;
    return step.call(this.#tokens, ...args);
  }
}
