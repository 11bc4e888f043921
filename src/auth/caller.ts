// Says which client a request is from, and finds the key under which the store keeps that client.

import { type ApiError, unavailable } from "../base/errors.ts";
import { errorMessage } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import { Groups } from "../store/groups.ts";
import type { TokenStore } from "../store/shared/sql-tokens.ts";

/** The client that a request is from. */
export interface Caller {
  /** Limits are counted by this: the hash of the token, or the creator's name of a JWT's subject. */
  readonly key: string;
  /** The name that operators see: the token's name, or the subject at the identity provider. */
  readonly name: string;
  /** The provider whose subject it is, and how it names it if not so; undefined for a token of the store. */
  readonly issuer?: string;
  /** The scopes of its token; undefined for one without any, which may do everything. */
  readonly scopes?: readonly string[] | undefined;
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
export function creatorName({ name, issuer }: Pick<Caller, "name" | "issuer">): string {
  return `${name} (${issuer})`;
}

/** Sets the creator of a caller that has none yet; `unavailable` if the store cannot be asked. */
export type ResolveCreator = (caller: Caller) => Promise<ApiError | undefined>;

/** The names that one call to the store has, and how long one waits for its turn. */
const limits = { callsMax: 100, waitMsMax: 10_000 };

/**
 * Finds the keys that are stored with the plants of an identity provider's subjects: when the first
 * plant of a token is about to be stored, so that verifying a JWT never needs the store. Those that
 * arrive while a call is under way share the next one: one each made 340 new subjects a second.
 */
export function creatorResolver(tokens: Pick<TokenStore, "creatorKeys">, emit: Emit): ResolveCreator {
  const groups = new Groups<string, number>(limits, async (names) => {
    const different = [...new Set(names)];
    try {
      const keys = await tokens.creatorKeys(different);
      return names.map((name) => keys[different.indexOf(name)] as number);
    } catch (error) {
      emit({ kind: "storeUnavailable", reason: errorMessage(error) });
      throw error;
    }
  });
  return async (caller) => {
    const name = creatorName(caller);
    try {
      caller.creator = await groups.add(name, name);
      return undefined;
    } catch {
      return unavailable("The store is unreachable, so nothing was stored");
    }
  };
}
