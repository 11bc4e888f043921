// The console's calls that show, build and drop the index of the search.

import { CoalescedWork } from "../core/admin/throttling.ts";
import { errorMessage } from "../core/operator-error.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { openSql } from "../operations/open-sql.ts";
import { BadRequestError, respondError, respondJson } from "./responses.ts";
import {
  buildSearchIndex,
  dropSearchIndex,
  type SearchIndexState,
  searchIndexState,
} from "./search-index.ts";

interface RunningChange {
  readonly change: "create" | "drop";
  readonly startedAt: number;
  share: number | undefined;
}

export interface IndexesDependencies {
  readonly store: Pick<PlantStore, "openSql">;
  readonly reader: () => Promise<SqlConnection>;
  readonly now: () => number;
}

export class Indexes {
  readonly #dependencies: IndexesDependencies;
  readonly #state: CoalescedWork<SearchIndexState>;
  #running: RunningChange | undefined;
  /** The message of the last change, if it failed. */
  #failure: string | undefined;

  constructor(dependencies: IndexesDependencies) {
    this.#dependencies = dependencies;
    this.#state = new CoalescedWork(async () => searchIndexState(await dependencies.reader()));
  }

  async state(): Promise<Response> {
    const state = await this.#state.run();
    const running = this.#running;
    return respondJson({
      state: running?.change === "create" ? "building" : state,
      changing:
        running === undefined
          ? null
          : {
              change: running.change,
              seconds: Math.round((this.#dependencies.now() - running.startedAt) / 1_000),
              share: running.share ?? null,
            },
      failure: this.#failure ?? null,
    });
  }

  /**
   * Starts a change and does not wait for it: building the index of a large store takes longer than
   * a request may.
   */
  change({ change }: { change: string }): Response {
    if (change !== "create" && change !== "drop") throw new BadRequestError("There is no such change.");
    if (this.#running !== undefined)
      return respondError(409, "The index is being built or dropped; wait until that is done.");
    const running: RunningChange = { change, startedAt: this.#dependencies.now(), share: undefined };
    this.#running = running;
    this.#failure = undefined;
    void this.#run(running)
      .catch((error) => {
        this.#failure = errorMessage(error);
      })
      .then(() => {
        this.#running = undefined;
      });
    return respondJson({}, 202);
  }

  async #run(running: RunningChange): Promise<void> {
    const read = await this.#dependencies.reader();
    await using write = await openSql(this.#dependencies.store, "write");
    if (running.change === "drop") return await dropSearchIndex(write.sql, read);
    await buildSearchIndex(write.sql, read, (share) => {
      running.share = share;
    });
  }
}
