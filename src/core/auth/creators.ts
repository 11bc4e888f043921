// The keys that are stored with the plants of an identity provider's subjects. They are found when
// the first plant of a token is about to be stored, so verifying a JWT never needs the store.

import { type ApiError, unavailable } from "../contract/errors.ts";
import type { Emit } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";
import type { TokenStore } from "../store/sql-tokens.ts";
import type { Caller } from "./caller.ts";

/** The name that is stored: a subject may have the name of a token, and is somebody else. */
export function creatorName({ name, issuer }: Omit<Caller, "creator">): string {
  return `${name} (${issuer})`;
}

/** Sets the creator of a caller that has none yet; `unavailable` if the store cannot be asked. */
export type ResolveCreator = (caller: Caller) => Promise<ApiError | undefined>;

/** @param one the word for what is created, such as "plant". */
export function creatorResolver(
  tokens: Pick<TokenStore, "creatorKey">,
  emit: Emit,
  one: string,
): ResolveCreator {
  return async (caller) => {
    try {
      caller.creator = await tokens.creatorKey(creatorName(caller));
      return undefined;
    } catch (error) {
      emit({ kind: "storeUnavailable", reason: errorMessage(error) });
      return unavailable(`The store is unreachable, so the ${one} was not stored`);
    }
  };
}
