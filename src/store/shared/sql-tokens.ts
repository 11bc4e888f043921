// Reads and changes the tokens of a store, and the creators that they share with the plants, with
// the SQL of every engine.

import { query, type SqlWork } from "./sql-work.ts";
import {
  type NewToken,
  planRotation,
  type Rotation,
  type RotationOutcome,
  type TokenRecord,
  type TokenRow,
  type TokensRead,
  type TokenUse,
  toTokenRecord,
} from "./token-record.ts";

/** How an engine runs statements on the tokens. */
export interface TokenDatabase {
  read<Result>(work: () => SqlWork<Result>): Promise<Result>;
  /** Runs work in a transaction, and repeats it after a lost connection. */
  change<Result>(work: () => SqlWork<Result>): Promise<Result>;
  /** Runs work in a transaction once, without a retry. */
  record(work: () => SqlWork<void>): Promise<void>;
}

/** How far the clock of another server may be ahead. */
const clockMsMax = 3_600_000;

/** The tokens of a store. Every method is atomic, on one server or many. */
export class SqlTokens {
  readonly #database: TokenDatabase;

  constructor(database: TokenDatabase) {
    this.#database = database;
  }

  /** Stores a new token; false, and nothing stored, if a token of that name is not revoked. */
  add(token: NewToken): Promise<boolean> {
    return this.#database.change(function* () {
      yield* lock(1);
      // A retry after a commit without a response finds its own token.
      const namesakes = yield* query(
        "SELECT hash FROM tokens WHERE name = $1 AND revoked_at IS NULL AND hash <> $2",
        [token.name, token.hash],
      );
      if (namesakes.length > 0) return false;
      yield* insert(token);
      return true;
    });
  }

  /** Stores a new token, and ends the older tokens of its name with the overlap. */
  rotate(rotation: Rotation): Promise<RotationOutcome> {
    return this.#database.change(function* () {
      yield* lock(1);
      const { hash, name, overlapEndsAt } = rotation;
      const rows = yield* query<TokenRow>(
        `SELECT * FROM tokens WHERE name = $1 AND hash <> $2 AND revoked_at IS NULL
         ORDER BY created_at DESC, hash DESC LIMIT 1`,
        [name, hash],
      );
      const outcome = planRotation(rows.map(toTokenRecord)[0], rotation);
      if (typeof outcome === "string") return outcome;
      yield* query(
        `UPDATE tokens SET overlap_ends_at = $1
         WHERE name = $2 AND hash <> $3 AND revoked_at IS NULL
           AND (overlap_ends_at IS NULL OR overlap_ends_at > $1)`,
        [overlapEndsAt, name, hash],
      );
      yield* insert(outcome.token);
      return outcome;
    });
  }

  /** Revokes the tokens of that name; false if there is none, or all are revoked. */
  revoke(name: string, revokedAt: number): Promise<boolean> {
    return this.#database.change(function* () {
      yield* lock(1);
      // The time is part of the condition, so that a retry after a lost response finds its own
      // change.
      const revoked = yield* query(
        `UPDATE tokens SET revoked_at = $1
         WHERE name = $2 AND (revoked_at IS NULL OR revoked_at = $1) RETURNING hash`,
        [revokedAt, name],
      );
      return revoked.length > 0;
    });
  }

  /**
   * Stores when tokens were last used, if that is later than what is stored, or what is stored is
   * from a clock that was wrong. Does not retry.
   *
   * @param now milliseconds since the epoch.
   */
  async recordUses(uses: readonly TokenUse[], now = Date.now()): Promise<void> {
    if (uses.length === 0) return;
    await this.#database.record(function* () {
      yield* lock(0);
      for (const { hash, minute } of uses)
        yield* query(
          `UPDATE tokens SET last_used_at = $1 WHERE hash = $2
             AND (last_used_at IS NULL OR last_used_at < $1 OR last_used_at > $3)`,
          [minute, hash, now + clockMsMax],
        );
    });
  }

  /** All tokens, oldest first. */
  list(): Promise<TokenRecord[]> {
    return this.#database.read(function* () {
      return (yield* query<TokenRow>("SELECT * FROM tokens ORDER BY created_at, hash")).map(toTokenRecord);
    });
  }

  /** The tokens that are not revoked; undefined if the version is still `known`. */
  readUnlessVersion(known: number | undefined): Promise<TokensRead | undefined> {
    return this.#database.read(function* () {
      // Read before the tokens: a change between the two is read again later.
      const [row] = yield* query<{ version: bigint | number }>("SELECT version FROM token_version");
      const version = Number(row?.version);
      if (version === known) return undefined;
      const rows = yield* query<TokenRow>("SELECT * FROM tokens WHERE revoked_at IS NULL");
      return { version, tokens: rows.map(toTokenRecord) };
    });
  }

  /** The key of a creator, a token or a provider's subject, which is stored with its plants. */
  async creatorKey(name: string): Promise<number> {
    const [key] = await this.creatorKeys([name]);
    return key as number;
  }

  /** The keys of creators in the order of their names: those that are new share a transaction. */
  async creatorKeys(names: readonly string[]): Promise<number[]> {
    const keys = new Map<string, number>();
    await this.#database.read(function* () {
      for (const name of names) {
        const key = yield* findCreatorKey(name);
        if (key !== undefined) keys.set(name, key);
      }
    });
    const others = names.filter((name) => !keys.has(name));
    if (others.length > 0)
      await this.#database.change(function* () {
        for (const name of others) keys.set(name, yield* storeCreatorKey(name));
      });
    return names.map((name) => keys.get(name) as number);
  }
}

/** The tokens of a store, whichever engine runs the statements. */
export type TokenStore = Pick<SqlTokens, keyof SqlTokens>;

/**
 * Makes other changes of tokens wait for this transaction, on one server or many.
 *
 * @param increment 1 if servers have to read the tokens again.
 */
function lock(increment: 0 | 1): SqlWork<unknown> {
  return query("UPDATE token_version SET version = version + $1", [increment]);
}

function* insert({ hash, name, createdAt, expiresAt, scopes }: NewToken): SqlWork<void> {
  yield* query(
    `INSERT INTO tokens (hash, name, created_at, expires_at, scopes, creator) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (hash) DO NOTHING`,
    [hash, name, createdAt, expiresAt, scopes ?? null, yield* storeCreatorKey(name)],
  );
}

function* findCreatorKey(name: string): SqlWork<number | undefined> {
  const [row] = yield* query<{ id: bigint | number }>("SELECT id FROM creators WHERE name = $1", [name]);
  return row === undefined ? undefined : Number(row.id);
}

/** The key of a creator, which is stored if it is new. */
function* storeCreatorKey(name: string): SqlWork<number> {
  for (;;) {
    const found = yield* findCreatorKey(name);
    if (found !== undefined) return found;
    // No sequence, which would lose a number at each conflict. Another server may insert the same
    // number or name at the same time.
    yield* query(
      `INSERT INTO creators (id, name) SELECT coalesce(max(id), 0) + 1, CAST($1 AS text) FROM creators WHERE true
       ON CONFLICT DO NOTHING`,
      [name],
    );
  }
}
