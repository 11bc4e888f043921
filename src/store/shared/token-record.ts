// Defines tokens as they are stored, by their hashes, and how one replaces another.

/** A token as it is issued. Times are milliseconds since the epoch. */
export interface NewToken {
  /** SHA-256 of the whole token, base64url. */
  readonly hash: string;
  /** The operator's name for it. Exactly one unrevoked token of a name has no overlapEndsAt. */
  readonly name: string;
  readonly createdAt: number;
  /** From this time on it is not accepted; null for no expiry. */
  readonly expiresAt: number | null;
  /** With a space between two; undefined for a token that may do everything. */
  readonly scopes?: string | undefined;
}

/** A token as it is stored. */
export interface TokenRecord extends NewToken {
  /** From this time on it is not accepted, as a rotation has replaced it; null if none has. */
  readonly overlapEndsAt: number | null;
  readonly revokedAt: number | null;
  /** The key of its name, for its plants. */
  readonly creator: number;
  /** The start of the last minute in which a server accepted it; null if none has. */
  readonly lastUsedAt: number | null;
}

/** When a token ends unless it is revoked; null for never. */
export function effectiveExpiry({
  expiresAt,
  overlapEndsAt,
}: Pick<TokenRecord, "expiresAt" | "overlapEndsAt">): number | null {
  return expiresAt === null || overlapEndsAt === null
    ? (expiresAt ?? overlapEndsAt)
    : Math.min(expiresAt, overlapEndsAt);
}

/** A new token that replaces the tokens of its name. */
export interface Rotation {
  readonly hash: string;
  readonly name: string;
  readonly rotatedAt: number;
  /** When the new token expires, null for never; undefined gives it its predecessor's lifetime. */
  readonly expiresAt: number | null | undefined;
  /** When the older tokens of the name end at the latest. */
  readonly overlapEndsAt: number;
}

/** The token that a rotation issues, and when its predecessor ends. */
export interface Rotated {
  readonly token: NewToken;
  readonly predecessorEndsAt: number;
}

/** `none`: no token of the name, or all are revoked; `expired`: the newest has expired. */
export type RotationOutcome = Rotated | "none" | "expired";

/** Plans a rotation, from the newest token of its name that is not revoked. */
export function planRotation(newest: TokenRecord | undefined, rotation: Rotation): RotationOutcome {
  const { hash, name, rotatedAt, expiresAt, overlapEndsAt } = rotation;
  if (newest === undefined) return "none";
  if (newest.expiresAt !== null && newest.expiresAt <= rotatedAt) return "expired";
  // Later than the predecessor's even if clocks differ: this decides which token is newer.
  const createdAt = Math.max(rotatedAt, newest.createdAt + 1);
  const sameLife = newest.expiresAt === null ? null : createdAt + newest.expiresAt - newest.createdAt;
  return {
    token: {
      hash,
      name,
      createdAt,
      expiresAt: expiresAt === undefined ? sameLife : expiresAt,
      scopes: newest.scopes,
    },
    predecessorEndsAt: Math.min(newest.expiresAt ?? overlapEndsAt, overlapEndsAt),
  };
}

/** The tokens that are not revoked, and the version that they were read at. */
export interface TokensRead {
  readonly version: number;
  readonly tokens: readonly TokenRecord[];
}

/** The use of a token in a minute, given by its start. */
export interface TokenUse {
  readonly hash: string;
  readonly minute: number;
}

/** A row of the tokens table; engines differ in the type of large integers. */
export type TokenRow = Readonly<Record<"hash" | "name", string>> &
  Readonly<Record<"scopes", string | null>> &
  Readonly<Record<"created_at" | "creator", bigint | number | string>> &
  Readonly<Record<"expires_at" | "overlap_ends_at" | "revoked_at" | "last_used_at", bigint | string | null>>;

export function toTokenRecord(row: TokenRow): TokenRecord {
  return {
    hash: row.hash,
    name: row.name,
    createdAt: Number(row.created_at),
    expiresAt: numberOrNull(row.expires_at),
    scopes: row.scopes ?? undefined,
    overlapEndsAt: numberOrNull(row.overlap_ends_at),
    revokedAt: numberOrNull(row.revoked_at),
    lastUsedAt: numberOrNull(row.last_used_at),
    creator: Number(row.creator),
  };
}

function numberOrNull(value: bigint | string | null): number | null {
  return value === null ? null : Number(value);
}
