// Tokens as they are stored, which have only their hashes, and how one replaces another.

/** A token as it is issued. Times are milliseconds since the epoch. */
export interface NewToken {
  /** SHA-256 of the whole token, base64url. */
  readonly hash: string;
  /** The operator's name for it. Exactly one unrevoked token of a name has no overlapEndsAt. */
  readonly name: string;
  readonly createdAt: number;
  /** From this time on it is not accepted; null for no expiry. */
  readonly expiresAt: number | null;
}

/** The characters of a creator's name that are stored: PostgreSQL indexes at most 2,704 bytes. */
const creatorCharactersMax = 200;

/** The name of a creator as every engine can store it. */
export function toCreatorName(name: string): string {
  const characters = Array.from(name.toWellFormed().replaceAll("\0", "\ufffd"));
  return characters.slice(0, creatorCharactersMax).join("");
}

/** A token as it is stored. */
export interface TokenRecord extends NewToken {
  /** From this time on it is not accepted, as a rotation has replaced it; null if none has. */
  readonly overlapEndsAt: number | null;
  readonly revokedAt: number | null;
  /** The key of its name, for its plants; null if SQL stored the token without one. */
  readonly creator: number | null;
  /** The start of the last minute in which a server accepted it; null if none has. */
  readonly lastUsedAt: number | null;
}

/** When a token ends unless it is revoked; null for never. */
export function effectiveExpiry({ expiresAt, overlapEndsAt }: TokenRecord): number | null {
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

/** The token that a rotation issued, and when its predecessor ends. */
export interface Rotated {
  readonly token: NewToken;
  readonly predecessorEndsAt: number;
}

/** `none`: no token of the name, or all are revoked; `expired`: the newest has expired. */
export type RotationOutcome = Rotated | "none" | "expired";

/** Plans a rotation, from the tokens of its name that are not revoked, oldest first. */
export function planRotation(namesakes: readonly TokenRecord[], rotation: Rotation): RotationOutcome {
  const { hash, name, rotatedAt, expiresAt, overlapEndsAt } = rotation;
  const newest = namesakes.at(-1);
  if (newest === undefined) return "none";
  if (newest.expiresAt !== null && newest.expiresAt <= rotatedAt) return "expired";
  // Later than the predecessor's even if clocks differ: this decides which token is newer.
  const createdAt = Math.max(rotatedAt, newest.createdAt + 1);
  const sameLife = newest.expiresAt === null ? null : createdAt + newest.expiresAt - newest.createdAt;
  return {
    token: { hash, name, createdAt, expiresAt: expiresAt === undefined ? sameLife : expiresAt },
    predecessorEndsAt: Math.min(newest.expiresAt ?? overlapEndsAt, overlapEndsAt),
  };
}

/**
 * How long a token stays listed after it has ended. Much longer than the interval at which servers
 * read changes, so that every server has read a revocation before its token is removed.
 */
export const endedTokenRetentionMs = 90 * 86_400_000;

/**
 * Tokens with the revision they were read at. Every change of tokens gets the next revision, and
 * none becomes visible before one with a lower revision.
 */
export interface TokensRead {
  readonly revision: number;
  readonly tokens: readonly TokenRecord[];
}

/** The use of a token in a minute, given by its start. */
export interface TokenUse {
  readonly hash: string;
  readonly minute: number;
}

/** A row of the tokens table; engines differ in the type of large integers. */
export interface TokenRow {
  readonly hash: string;
  readonly name: string;
  readonly created_at: bigint | string;
  readonly expires_at: bigint | string | null;
  readonly revoked_at: bigint | string | null;
  /** When older tokens of the name end; null if no rotation issued this one. */
  readonly predecessors_end_at: bigint | string | null;
  readonly last_used_at: bigint | string | null;
  readonly creator: bigint | number | null;
  /** The revision of its last change. */
  readonly revision: bigint | string;
}

/**
 * The records of rows, oldest first. The end of the older tokens is stored in the token that
 * replaces them, so revoking that token undoes the rotation.
 */
export function toTokenRecords(rows: readonly TokenRow[]): TokenRecord[] {
  const ends = new Map<string, number>();
  const newestFirst = rows.toReversed().map((row) => {
    const record = toTokenRecord(row, ends.get(row.name) ?? null);
    const end = numberOrNull(row.predecessors_end_at);
    if (record.revokedAt === null && end !== null)
      ends.set(row.name, Math.min(end, record.overlapEndsAt ?? end));
    return record;
  });
  return newestFirst.toReversed();
}

function toTokenRecord(row: TokenRow, overlapEndsAt: number | null): TokenRecord {
  return {
    hash: row.hash,
    name: row.name,
    createdAt: Number(row.created_at),
    expiresAt: numberOrNull(row.expires_at),
    overlapEndsAt,
    revokedAt: numberOrNull(row.revoked_at),
    lastUsedAt: numberOrNull(row.last_used_at),
    creator: numberOrNull(row.creator),
  };
}

function numberOrNull(value: bigint | string | number | null): number | null {
  return value === null ? null : Number(value);
}
