// Says which client a request is from, and finds the key under which the store keeps that client.

import { ApiError, unavailable } from "../base/errors.ts";
import { errorMessage } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import type { TokenStore } from "../store/shared/sql-tokens.ts";

/** The client that a request is from. */
export interface Caller {
  /** Limits are counted by this: the hash of the token, or the issuer and the subject of a JWT. */
  readonly key: string;
  /** The name that operators see: the token's name, or the subject at the identity provider. */
  readonly name: string;
  /** The identity provider whose subject it is; undefined for a token of the store. */
  readonly issuer?: string;
  /** The key that is stored with the plants that it creates; undefined until it is found. */
  creator: number | undefined;
}

/**
 * The caller of all requests without a token, where the operation needs none. It has an issuer, so
 * that a token named "anonymous" is a different creator.
 */
export const anonymous: Omit<Caller, "creator"> = {
  key: "anonymous",
  name: "anonymous",
  issuer: "no token",
};

/** The caller, or the error to respond with: missingToken, invalidToken or unavailable. */
export type AuthResult = Caller | ApiError;

/** The name that is stored: a subject may have the name of a token, and is somebody else. */
export function creatorName({ name, issuer }: Omit<Caller, "creator">): string {
  return `${name} (${issuer})`;
}

/** Sets the creator of a caller that has none yet; `unavailable` if the store cannot be asked. */
export type ResolveCreator = (caller: Caller) => Promise<ApiError | undefined>;

/**
 * Finds the keys that are stored with the plants of an identity provider's subjects: when the first
 * plant of a token is about to be stored, so that verifying a JWT never needs the store. The first
 * creates of a caller arrive together and share one call.
 */
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
