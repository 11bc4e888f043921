// The keys that are stored with the plants of an identity provider's subjects. They are found when
// the first plant of a token is about to be stored, so verifying a JWT never needs the store.

import { ApiError, unavailable } from "../contract/errors.ts";
import type { Emit } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";
import type { TokenStore } from "../store/shared/sql-tokens.ts";
import type { Caller } from "./caller.ts";

/** The name that is stored: a subject may have the name of a token, and is somebody else. */
export function creatorName({ name, issuer }: Omit<Caller, "creator">): string {
  return `${name} (${issuer})`;
}

/** Sets the creator of a caller that has none yet; `unavailable` if the store cannot be asked. */
export type ResolveCreator = (caller: Caller) => Promise<ApiError | undefined>;

/** The first creates of a caller arrive together and share one call to the store. */
export function creatorResolver(tokens: Pick<TokenStore, "creatorKey">, emit: Emit): ResolveCreator {
  /** The calls that are running, by the creator's name. */
  const running = new Map<string, Promise<number | ApiError>>();
  const findKey = async (name: string) => {
    try {
      return await tokens.creatorKey(name);
    } catch (error) {
      emit({ kind: "storeUnavailable", reason: errorMessage(error) });
      return unavailable("The store is unreachable, so nothing was stored");
    }
  };
  return async (caller) => {
    const name = creatorName(caller);
    let finding = running.get(name);
    if (finding === undefined) {
      finding = findKey(name).finally(() => running.delete(name));
      running.set(name, finding);
    }
    const key = await finding;
    if (key instanceof ApiError) return key;
    caller.creator = key;
    return undefined;
  };
}
