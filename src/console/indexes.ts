// The console's calls that show, build and drop the index of the search.

import { AdminError } from "../core/admin/request-bodies.ts";
import { errorMessage } from "../core/operator-error.ts";
import type { ConsoleContext } from "./context.ts";
import { BadRequestError } from "./responses.ts";
import { buildSearchIndex, dropSearchIndex, searchIndexState } from "./search-index.ts";

interface RunningChange {
  readonly change: "create" | "drop";
  readonly startedAt: number;
  share: number | undefined;
}

export class Indexes {
  readonly #context: ConsoleContext;
  #running: RunningChange | undefined;
  /** The message of the last change, if it failed. */
  #failure: string | undefined;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  async state() {
    const state = await searchIndexState(await this.#context.reader());
    const running = this.#running;
    return {
      state: running?.change === "create" ? "building" : state,
      changing:
        running === undefined
          ? null
          : {
              change: running.change,
              seconds: Math.round((this.#context.now() - running.startedAt) / 1_000),
              share: running.share ?? null,
            },
      failure: this.#failure ?? null,
    };
  }

  /**
   * Starts a change and does not wait for it: building the index of a large store takes longer than
   * a request may.
   */
  change({ change }: { change: string }): void {
    if (change !== "create" && change !== "drop") throw new BadRequestError("There is no such change.");
    if (this.#running !== undefined)
      throw new AdminError(409, "The index is being built or dropped; wait until that is done.");
    const running: RunningChange = { change, startedAt: this.#context.now(), share: undefined };
    this.#running = running;
    this.#failure = undefined;
    void this.#run(running)
      .catch((error) => {
        this.#failure = errorMessage(error);
      })
      .then(() => {
        this.#running = undefined;
      });
  }

  async #run(running: RunningChange): Promise<void> {
    const read = await this.#context.reader();
    await using write = await this.#context.store.openSql("write");
    if (running.change === "drop") return await dropSearchIndex(write, read);
    await buildSearchIndex(write, read, (share) => {
      running.share = share;
    });
  }
}
