// The keys that are stored with the plants of an identity provider's subjects. They are found when a
// plant is about to be stored, so verifying a JWT never needs the store.

import { type ApiError, unavailable } from "../contract/errors.ts";
import type { Emit } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";
import type { TokenStore } from "../store/sql-tokens.ts";
import type { Caller } from "./caller.ts";

export class Creators {
  readonly #tokens: Pick<TokenStore, "creatorKey">;
  readonly #emit: Emit;
  /** By name: the first plants of a subject wait for one call to the store. */
  readonly #searches = new Map<string, Promise<number>>();

  constructor(tokens: Pick<TokenStore, "creatorKey">, emit: Emit) {
    this.#tokens = tokens;
    this.#emit = emit;
  }

  /** Finds the key of a caller that has none yet; `unavailable` if the store cannot be asked. */
  async find(caller: Caller): Promise<ApiError | undefined> {
    const { name } = caller;
    const search = this.#searches.get(name) ?? this.#tokens.creatorKey(name);
    this.#searches.set(name, search);
    try {
      caller.creator = await search;
      return undefined;
    } catch (error) {
      this.#emit({ kind: "storeUnavailable", reason: errorMessage(error) });
      return unavailable("The store is unreachable, so the plant was not stored");
    } finally {
      this.#searches.delete(name);
    }
  }
}
