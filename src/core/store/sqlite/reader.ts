// Reads plants of a SQLite store while a server creates them, in a worker thread of its own.

import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type {
  CountedPart,
  Creation,
  IndexStates,
  PlantReader,
  PlantSummary,
  Search,
  SearchResult,
} from "../plant-reader.ts";
import type { ReaderWorker } from "./reader-worker.ts";
import { WorkerClient } from "./worker-rpc.ts";

export class SqliteReader implements PlantReader {
  /** One call in flight: those that wait can be rejected when the reader is closed. */
  readonly #worker = new WorkerClient<ReaderWorker>(new URL("./reader-worker.ts", import.meta.url), {
    name: "reader",
    callsInFlightMax: 1,
  });

  /** Rejects with an OperatorError if the file cannot be opened. */
  static async open(path: string): Promise<SqliteReader> {
    const reader = new SqliteReader();
    try {
      await reader.#worker.call("reader", "open", path);
    } catch (error) {
      reader.#worker.terminate();
      throw error;
    }
    return reader;
  }

  search(search: Search): Promise<SearchResult> {
    return this.#worker.call("reader", "search", search);
  }

  withIds(ids: readonly bigint[]): Promise<PlantSummary[]> {
    return this.#worker.call("reader", "withIds", ids);
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#worker.call("reader", "get", id);
  }

  creations(ids: readonly bigint[]): Promise<Creation[]> {
    return this.#worker.call("reader", "creations", ids);
  }

  createdSince(times: readonly number[]): Promise<number[] | undefined> {
    return this.#worker.call("reader", "createdSince", times);
  }

  countPart(afterId: bigint | undefined, plantsMax: number): Promise<CountedPart> {
    return this.#worker.call("reader", "countPart", afterId, plantsMax);
  }

  indexStates(): Promise<IndexStates> {
    return this.#worker.call("reader", "indexStates");
  }

  /** Waits for the one call that is in flight; calls that wait are rejected. */
  async close(): Promise<void> {
    this.#worker.rejectQueued(new OperatorError("the server is stopping"));
    await this.#worker.call("reader", "close");
    this.#worker.terminate();
  }
}
