// Who calls, or why a bearer token was not accepted: what every kind of credentials comes to.

/** Who a request is from. */
export interface Caller {
  /** The same for all tokens of this caller, and no other's: what is counted for it is counted under this. */
  readonly key: string;
  /** As an operator knows it: the token's name, or the subject at the identity provider. */
  readonly name: string;
}

/** Why a bearer token was not accepted, or why nobody can tell. */
export type AuthFailure =
  /** It is none that was issued here, or no longer. */
  | "unknown"
  /** It is no well-formed JWT that a key of the identity provider has signed. */
  | "unverified"
  /** It is the identity provider's, and its time is over. */
  | "expired"
  /** It is the identity provider's, and its time has not come. */
  | "premature"
  /** It is the identity provider's, but says something else than this service expects. */
  | "unfit"
  /** The store cannot be asked. */
  | "storeUnavailable"
  /** The identity provider cannot be asked for the key that signed it. */
  | "keysUnavailable";

export type AuthResult = Caller | AuthFailure;
