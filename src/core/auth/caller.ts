// The client that a request is from, or why it is not accepted.

import type { ApiError } from "../contract/errors.ts";

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
