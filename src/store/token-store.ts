// How an engine keeps tokens: never a token itself, only its hash.

/** A token as it is stored. Times are milliseconds since the epoch. */
export interface TokenRecord {
  /** SHA-256 of the whole token, base64url. */
  readonly hash: string;
  /** The operator's name for it, unique among the tokens that are not revoked. */
  readonly name: string;
  readonly createdAt: number;
  /** From this moment on it is not accepted; null is never. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** The tokens of a store. Every method is atomic, on one server or many. */
export interface TokenStore {
  /** Stores a new token; false, and nothing stored, if a token of that name is not revoked. */
  add(token: TokenRecord): Promise<boolean>;

  /** Stores a new token if no token was ever stored; whether it did. */
  addFirst(token: TokenRecord): Promise<boolean>;

  /** Revokes the token of that name; false if there is none that is not revoked already. */
  revoke(name: string, revokedAt: number): Promise<boolean>;

  /** Every token ever stored, oldest first. */
  list(): Promise<TokenRecord[]>;
}

/** A row of the tokens table, which is the same in every engine but for how its client gives large integers. */
export interface TokenRow {
  readonly hash: string;
  readonly name: string;
  readonly created_at: bigint | string;
  readonly expires_at: bigint | string | null;
  readonly revoked_at: bigint | string | null;
}

/** The record that a row holds. */
export function tokenFrom({ hash, name, created_at, expires_at, revoked_at }: TokenRow): TokenRecord {
  return {
    hash,
    name,
    createdAt: Number(created_at),
    expiresAt: expires_at === null ? null : Number(expires_at),
    revokedAt: revoked_at === null ? null : Number(revoked_at),
  };
}
