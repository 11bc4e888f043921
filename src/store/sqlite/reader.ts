// Reads plants of a SQLite store beside the server that creates them, on a thread of its own.

import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type { IndexStates, PlantReader, PlantSummary, Search, SearchResult } from "../plant-reader.ts";
import { WorkerClient } from "./worker-rpc.ts";

/** The calls that the reading thread answers, by name. */
export interface ReaderCalls {
  open(path: string): void;
  search(search: Search): SearchResult;
  withIds(ids: readonly bigint[]): PlantSummary[];
  get(id: bigint): NewPlant | undefined;
  indexStates(): IndexStates;
  close(): void;
}

export class SqliteReader implements PlantReader {
  readonly #thread = new WorkerClient<ReaderCalls>(new URL("./reader-worker.ts", import.meta.url));

  static async open(path: string): Promise<SqliteReader> {
    const reader = new SqliteReader();
    try {
      await reader.#thread.call("open", path);
    } catch (error) {
      reader.#thread.terminate();
      throw error;
    }
    return reader;
  }

  search(search: Search): Promise<SearchResult> {
    return this.#thread.call("search", search);
  }

  withIds(ids: readonly bigint[]): Promise<PlantSummary[]> {
    return this.#thread.call("withIds", ids);
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#thread.call("get", id);
  }

  indexStates(): Promise<IndexStates> {
    return this.#thread.call("indexStates");
  }

  async close(): Promise<void> {
    // A server that stops waits for one search at the most.
    this.#thread.rejectWaiting(new OperatorError("the server is stopping"));
    await this.#thread.call("close");
    this.#thread.terminate();
  }
}
