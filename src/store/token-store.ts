// How an engine keeps tokens: never a token itself, only its hash.

/** A token as it is issued. Times are milliseconds since the epoch. */
export interface NewToken {
  /** SHA-256 of the whole token, base64url. */
  readonly hash: string;
  /** The operator's name for it; of the tokens of a name that are not revoked, one has no overlapEndsAt. */
  readonly name: string;
  readonly createdAt: number;
  /** From this moment on it is not accepted; null is never. */
  readonly expiresAt: number | null;
}

/** A token as it is stored. */
export interface TokenRecord extends NewToken {
  /** From this moment on it is not accepted, as a rotation has put another in its place; null if none has. */
  readonly overlapEndsAt: number | null;
  readonly revokedAt: number | null;
  /** The last minute, by its beginning, in which a server accepted it; null if none has. */
  readonly lastUsedAt: number | null;
}

/** From when on a token is not accepted, if it is not revoked before; null is never. */
export function effectiveExpiry({ expiresAt, overlapEndsAt }: TokenRecord): number | null {
  return expiresAt === null || overlapEndsAt === null
    ? (expiresAt ?? overlapEndsAt)
    : Math.min(expiresAt, overlapEndsAt);
}

/** A new token that is to take the place of those with its name. */
export interface Rotation {
  readonly hash: string;
  readonly name: string;
  readonly rotatedAt: number;
  /** When the new token ends, null is never; undefined gives it as long a life as the one before was given. */
  readonly expiresAt: number | null | undefined;
  /** When all tokens of the name but the new one end at the latest. */
  readonly overlapEndsAt: number;
}

/** A token that a rotation issued, and when the one before it ends. */
export interface Rotated {
  readonly token: NewToken;
  readonly predecessorEndsAt: number;
}

/** `none`: all tokens of the name are revoked, or there are none; `expired`: the newest has ended by itself. */
export type RotationOutcome = Rotated | "none" | "expired";

/** What a rotation makes of the tokens of its name that are not revoked, oldest first. */
export function planRotation(namesakes: readonly TokenRecord[], rotation: Rotation): RotationOutcome {
  const { hash, name, rotatedAt, expiresAt, overlapEndsAt } = rotation;
  const newest = namesakes.at(-1);
  if (newest === undefined) return "none";
  if (newest.expiresAt !== null && newest.expiresAt <= rotatedAt) return "expired";
  // Later than the one before, whatever the clocks of two operators say: which is newer is read off this.
  const createdAt = Math.max(rotatedAt, newest.createdAt + 1);
  const sameLife = newest.expiresAt === null ? null : createdAt + newest.expiresAt - newest.createdAt;
  return {
    token: { hash, name, createdAt, expiresAt: expiresAt === undefined ? sameLife : expiresAt },
    predecessorEndsAt: Math.min(newest.expiresAt ?? overlapEndsAt, overlapEndsAt),
  };
}

/**
 * How long a token that has ended or was revoked stays listed, before it is removed. Much longer than any server goes
 * without reading the tokens, so that none is removed whose revocation a server has not seen.
 */
export const endedTokenRetentionMs = 90 * 86_400_000;

/** A part of the table to remove ended tokens from, so that nothing waits for all of it. */
export interface Removal {
  /** What was revoked or has ended before this moment is removed. */
  readonly endedBefore: number;
  /** The rows with a hash after this one, in the order of hashes; "" begins. */
  readonly afterHash: string;
  /** How many rows are looked at, and about how many are removed at most. */
  readonly rowsMax: number;
}

/** What a removal did; `nextHash` is where to go on, undefined at the end of the table. */
export interface Removed {
  readonly count: number;
  readonly nextHash: string | undefined;
}

/**
 * The hashes of the tokens that are never removed: the latest change, from which revisions are numbered on, and the latest
 * that was shown to anybody, so that a store that ever had a token gets no first token again. Those that were not shown are
 * revoked as of their creation.
 */
export const keptTokensSql = `
  SELECT hash FROM (SELECT hash FROM tokens ORDER BY revision DESC, hash DESC LIMIT 1) AS latest
  UNION
  SELECT hash FROM (
    SELECT hash FROM tokens WHERE revoked_at IS NULL OR revoked_at <> created_at
    ORDER BY revision DESC, hash DESC LIMIT 1
  ) AS latest_shown`;

/**
 * The hashes of the tokens of a name that may be removed, of those that are not revoked, oldest first. A token says
 * when the older ones of its name end, so it must not go before them: removed are those that have ended, up to
 * the first that stays.
 */
export function removableTokens(
  namesakes: readonly TokenRecord[],
  endedBefore: number,
  kept: ReadonlySet<string>,
): string[] {
  const firstKept = namesakes.findIndex(
    (token) => kept.has(token.hash) || (effectiveExpiry(token) ?? Number.POSITIVE_INFINITY) >= endedBefore,
  );
  return namesakes.slice(0, firstKept === -1 ? namesakes.length : firstKept).map(({ hash }) => hash);
}

/**
 * Tokens as they were read. `revision` is the number of the latest change that they include: every change of tokens has
 * the next number, and no change becomes visible before one with a lower number.
 */
export interface TokensRead {
  readonly revision: number;
  readonly tokens: readonly TokenRecord[];
}

/** That a token was used, in the minute that begins at a moment. */
export interface TokenUse {
  readonly hash: string;
  readonly minute: number;
}

/** The tokens of a store. Every method is atomic, on one server or many. */
export interface TokenStore {
  /** Stores a new token; false, and nothing stored, if a token of that name is not revoked. */
  add(token: NewToken): Promise<boolean>;

  /** Stores a new token if no token was ever stored, other than those that were withdrawn; whether it did. */
  addFirst(token: NewToken): Promise<boolean>;

  /** Stores a new token in place of those with its name, which end with the overlap. Of two at once one is first. */
  rotate(rotation: Rotation): Promise<RotationOutcome>;

  /**
   * Revokes one token, which nobody was shown, from the moment of its creation; those that it was to replace are then
   * as they were.
   */
  revokeByHash(hash: string): Promise<void>;

  /** Revokes the tokens of that name; false if there is none that is not revoked already. */
  revoke(name: string, revokedAt: number): Promise<boolean>;

  /** Stores when tokens were last used, where that is later than what is stored. Does not try for long. */
  recordUses(uses: readonly TokenUse[]): Promise<void>;

  /** Every token that is stored, oldest first. */
  list(): Promise<TokenRecord[]>;

  /** Every token that is not revoked and has not expired; some that have ended otherwise may be among them. */
  readActive(now: number): Promise<TokensRead>;

  /**
   * The tokens that have changed since a revision, also those whose end has changed because another one did. Costs next
   * to nothing if there are none, however many tokens are stored. The revision is lower than the given one if
   * the store has lost changes.
   */
  readChanges(since: number): Promise<TokensRead>;

  /** Those of the tokens with these hashes that are stored and not revoked; other tokens of their names may be among them. */
  find(hashes: readonly string[]): Promise<TokenRecord[]>;

  /**
   * Removes tokens that were revoked or have ended before a moment. The token that was changed last always stays: it
   * carries the revision, and shows that the store had tokens.
   */
  removeEnded(removal: Removal): Promise<Removed>;
}

/** A row of the tokens table, which is the same in every engine but for how its client gives large integers. */
export interface TokenRow {
  readonly hash: string;
  readonly name: string;
  readonly created_at: bigint | string;
  readonly expires_at: bigint | string | null;
  readonly revoked_at: bigint | string | null;
  /** When older tokens of the name end; null if no rotation issued this one. */
  readonly predecessors_end_at: bigint | string | null;
  readonly last_used_at: bigint | string | null;
  /** The number of the change that last touched it; 0 if that was before schema version 3. */
  readonly revision: bigint | string;
}

/** The hashes of the rows that were revoked before a moment, and the names whose other tokens may have ended before it. */
export function removalCandidates(
  rows: readonly TokenRow[],
  endedBefore: number,
): { revoked: string[]; names: string[] } {
  const isBefore = (at: bigint | string | null) => at !== null && Number(at) < endedBefore;
  const revoked = rows.filter((row) => isBefore(row.revoked_at)).map(({ hash }) => hash);
  const ended = rows.filter(
    (row) => row.revoked_at === null && (isBefore(row.expires_at) || isBefore(row.predecessors_end_at)),
  );
  return { revoked, names: [...new Set(ended.map(({ name }) => name))] };
}

/** The highest revision of some rows, or the given one if there is none higher. */
export function latestRevision(rows: readonly TokenRow[], since: number): number {
  return rows.reduce((latest, { revision }) => Math.max(latest, Number(revision)), since);
}

/**
 * The records of rows, oldest first. That a token is replaced is written beside the one that replaces it, so that a
 * rotation is undone by revoking that one: whatever happened in between, the others are as if it had never been.
 */
export function tokensFrom(rows: readonly TokenRow[]): TokenRecord[] {
  const ends = new Map<string, number>();
  const newestFirst = rows.toReversed().map((row) => {
    const record = tokenFrom(row, ends.get(row.name) ?? null);
    const end = numberOrNull(row.predecessors_end_at);
    if (record.revokedAt === null && end !== null)
      ends.set(row.name, Math.min(end, record.overlapEndsAt ?? end));
    return record;
  });
  return newestFirst.toReversed();
}

function tokenFrom(row: TokenRow, overlapEndsAt: number | null): TokenRecord {
  return {
    hash: row.hash,
    name: row.name,
    createdAt: Number(row.created_at),
    expiresAt: numberOrNull(row.expires_at),
    overlapEndsAt,
    revokedAt: numberOrNull(row.revoked_at),
    lastUsedAt: numberOrNull(row.last_used_at),
  };
}

function numberOrNull(value: bigint | string | null): number | null {
  return value === null ? null : Number(value);
}
