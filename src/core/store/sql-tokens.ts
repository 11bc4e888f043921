// The tokens table, and the creators that it shares with the plants: the SQL of every engine.

import { list, query, type SqlWork } from "./sql-work.ts";
import {
  type NewToken,
  planRotation,
  type Rotation,
  type RotationOutcome,
  type TokenRecord,
  type TokenRow,
  type TokensRead,
  type TokenUse,
  toCreatorName,
  toTokenRecords,
} from "./token-store.ts";

/** How an engine runs statements on the tokens. */
export interface TokenDatabase {
  /** Whether other transactions may run at the same time, so that it has to lock rows. */
  readonly isConcurrent: boolean;
  read<Result>(work: () => SqlWork<Result>): Promise<Result>;
  /**
   * Runs work in a serializable transaction, and repeats it if necessary.
   *
   * @param mayWait whether it may wait for the lock for longer than a batch: batches wait behind
   * it.
   */
  change<Result>(work: () => SqlWork<Result>, mayWait: boolean): Promise<Result>;
  /** Runs work in a transaction that waits for others instead of failing, and is not repeated. */
  record(work: () => SqlWork<void>): Promise<void>;
}

/**
 * The next revision. Of two changes that read the same revision one fails and is retried, so a
 * reader that sees a revision sees all lower ones.
 */
const nextRevision = "(SELECT coalesce(max(revision), 0) + 1 FROM tokens)";

/** The hashes in one statement, each a parameter. */
const hashesMax = 1_000;

/** The tokens of a store. Every method is atomic, on one server or many. */
export class SqlTokens {
  readonly #database: TokenDatabase;

  constructor(database: TokenDatabase) {
    this.#database = database;
  }

  /** Stores a new token; false, and nothing stored, if a token of that name is not revoked. */
  add(token: NewToken): Promise<boolean> {
    return this.#database.change(function* () {
      const namesakes = yield* query(
        "SELECT hash FROM tokens WHERE name = $1 AND revoked_at IS NULL AND hash <> $2",
        [token.name, token.hash],
      );
      if (namesakes.length > 0) return false;
      yield* insert(token);
      return true;
    }, true);
  }

  /** Stores a new token and returns true, unless one was stored before; revokeByHash undoes it. */
  async addFirst(token: NewToken): Promise<boolean> {
    // Asked at each start, also while a node of Citus is down and tokens can be read but not
    // changed.
    if (await this.#database.read(() => hasShown(token.hash))) return false;
    return this.#database.change(function* () {
      if (yield* hasShown(token.hash)) return false;
      yield* insert(token);
      return true;
    }, true);
  }

  /**
   * Stores a new token, and ends the older tokens of its name with the overlap. Concurrent
   * rotations run one after the other.
   */
  rotate(rotation: Rotation): Promise<RotationOutcome> {
    return this.#database.change(function* () {
      const rows = yield* unrevoked([rotation.name]);
      // A retry after a commit without a response finds its own token, and perhaps later ones.
      const own = rows.findIndex(({ hash }) => hash === rotation.hash);
      const before = own === -1 ? rows : rows.slice(0, own);
      const outcome = planRotation(toTokenRecords(before), rotation);
      if (typeof outcome === "object") yield* insert(outcome.token, rotation.overlapEndsAt);
      return outcome;
    }, true);
  }

  /** Revokes one token that was never shown; the tokens that it was to replace are as before. */
  async revokeByHash(hash: string): Promise<void> {
    await this.#database.change(
      () =>
        query(
          `UPDATE tokens SET revoked_at = created_at, revision = ${nextRevision} WHERE hash = $1 AND revoked_at IS NULL`,
          [hash],
        ),
      true,
    );
  }

  /** Revokes the tokens of that name; false if there is none, or all are revoked. */
  revoke(name: string, revokedAt: number): Promise<boolean> {
    return this.#database.change(function* () {
      // The time is part of the condition, so that a retry after a lost response finds its own
      // change.
      const time = "CASE WHEN $1 > created_at THEN $1 ELSE created_at + 1 END";
      const revoked = yield* query(
        `UPDATE tokens SET revoked_at = ${time}, revision = ${nextRevision}
         WHERE name = $2 AND (revoked_at IS NULL OR revoked_at = ${time}) RETURNING hash`,
        [revokedAt, name],
      );
      return revoked.length > 0;
    }, true);
  }

  /** Stores when tokens were last used, if that is later than what is stored. Does not retry. */
  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    if (uses.length === 0) return;
    const { isConcurrent } = this.#database;
    await this.#database.record(function* () {
      if (isConcurrent) {
        // Locked in one order, so that servers that record the same tokens wait for each other. A
        // statement of its own: Citus loses a column of a CTE that locks rows.
        const hashes = uses.map(({ hash }) => hash);
        yield* query(`SELECT 1 FROM tokens WHERE hash IN ${list(hashes)} ORDER BY hash FOR UPDATE`, hashes);
      }
      const pairs = uses.map(
        (_, index) => `(CAST($${2 * index + 1} AS text), CAST($${2 * index + 2} AS bigint))`,
      );
      yield* query(
        `UPDATE tokens SET last_used_at = uses.column2 FROM (VALUES ${pairs.join(", ")}) AS uses
         WHERE hash = uses.column1 AND (last_used_at IS NULL OR last_used_at < uses.column2)`,
        uses.flatMap(({ hash, minute }) => [hash, minute]),
      );
    });
  }

  /** All tokens, oldest first. */
  list(): Promise<TokenRecord[]> {
    return this.#database.read(function* () {
      return toTokenRecords(yield* query<TokenRow>("SELECT * FROM tokens ORDER BY created_at, hash"));
    });
  }

  /**
   * All tokens that are not revoked and have not expired, perhaps with some whose overlap has
   * ended.
   */
  readActive(now: number): Promise<TokensRead> {
    return this.#database.read(function* () {
      // Read before the tokens: a change between the two is read again later.
      const revision = yield* readRevision();
      // An expired token may still hold when the older tokens of its name end.
      const rows = yield* query<TokenRow>(
        `SELECT * FROM tokens
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1 OR predecessors_end_at IS NOT NULL)
         ORDER BY created_at, hash`,
        [now],
      );
      return { revision, tokens: toTokenRecords(rows) };
    });
  }

  /**
   * The tokens that have changed since a revision, and those whose end has changed with them. If
   * there are none it is one index look-up. The returned revision is lower than `since` if the
   * store has lost changes, for instance by a restore.
   */
  readChanges(since: number): Promise<TokensRead> {
    return this.#database.read(function* () {
      const latest = yield* readRevision();
      if (latest <= since) return { revision: latest, tokens: [] };
      const rows = yield* query<TokenRow>(
        `SELECT * FROM tokens WHERE revision > $1
         UNION
         SELECT * FROM tokens
         WHERE revoked_at IS NULL AND name IN (SELECT name FROM tokens WHERE revision > $1)
         ORDER BY created_at, hash`,
        [since],
      );
      const revision = rows.reduce((highest, row) => Math.max(highest, Number(row.revision)), latest);
      return { revision, tokens: toTokenRecords(rows) };
    });
  }

  /** The unrevoked tokens with these hashes, perhaps with other tokens of their names. */
  find(hashes: readonly string[]): Promise<TokenRecord[]> {
    return this.#database.read(function* () {
      const records: TokenRecord[] = [];
      for (let at = 0; at < hashes.length; at += hashesMax) {
        const part = hashes.slice(at, at + hashesMax);
        const rows = yield* query<TokenRow>(
          `SELECT * FROM tokens
           WHERE revoked_at IS NULL
             AND name IN (SELECT name FROM tokens WHERE hash IN ${list(part)} AND revoked_at IS NULL)
           ORDER BY created_at, hash`,
          part,
        );
        records.push(...toTokenRecords(rows));
      }
      return records;
    });
  }

  /** The key of a creator, a token or a provider's subject, which is stored with its plants. */
  async creatorKey(name: string): Promise<number> {
    const found = await this.#database.read(() => findCreatorKey(name));
    return found ?? this.#database.change(() => storeCreatorKey(name), true);
  }

  /**
   * Removes at most `rowsMax` tokens that were revoked or have ended before a time, oldest first;
   * resolves with their number. The token that was changed last always stays: it holds the
   * revision, and shows that the store has had tokens.
   */
  removeEnded(endedBefore: number, rowsMax: number): Promise<number> {
    return this.#database.change(function* () {
      const hashes = (yield* query<TokenRow>(endedTokensSql, [endedBefore, rowsMax])).map(({ hash }) => hash);
      if (hashes.length > 0) yield* query(`DELETE FROM tokens WHERE hash IN ${list(hashes)}`, hashes);
      return hashes.length;
    }, false);
  }
}

/** The tokens of a store, whichever engine runs the statements. */
export type TokenStore = Pick<SqlTokens, keyof SqlTokens>;

/**
 * The tokens that ended before $1, at most $2. Two are kept: the latest change, from which
 * revisions are numbered, and the latest token that was shown, so that a store gets one first token
 * only. A token that was not shown is revoked as of its creation. A token holds when the older ones
 * of its name end, so it is removed after them.
 */
const endedTokensSql = `
  WITH kept AS (
    SELECT hash FROM (SELECT hash FROM tokens ORDER BY revision DESC, hash DESC LIMIT 1) AS latest
    UNION
    SELECT hash FROM (
      SELECT hash FROM tokens WHERE revoked_at IS NULL OR revoked_at <> created_at
      ORDER BY revision DESC, hash DESC LIMIT 1
    ) AS latest_shown
  ), unrevoked AS (
    SELECT hash, name, created_at,
           CASE WHEN hash IN (SELECT hash FROM kept) THEN 1
                WHEN expires_at < $1 OR min(predecessors_end_at) OVER newer < $1 THEN 0
                ELSE 1 END AS stays
    FROM tokens
    WHERE revoked_at IS NULL AND name IN (
      SELECT name FROM tokens WHERE revoked_at IS NULL AND (expires_at < $1 OR predecessors_end_at < $1)
    )
    WINDOW newer AS (
      PARTITION BY name ORDER BY created_at DESC, hash DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
  )
  SELECT hash, created_at FROM tokens WHERE revoked_at < $1 AND hash NOT IN (SELECT hash FROM kept)
  UNION
  SELECT hash, created_at FROM (
    SELECT hash, created_at, max(stays) OVER (PARTITION BY name ORDER BY created_at, hash) AS an_older_stays
    FROM unrevoked
  ) AS namesakes WHERE an_older_stays = 0
  ORDER BY created_at, hash LIMIT $2`;

/** The revision of the latest change, one entry at the end of the index. */
function* readRevision(): SqlWork<number> {
  const [latest] = yield* query<{ revision: bigint | string | null }>(
    "SELECT max(revision) AS revision FROM tokens",
  );
  return Number(latest?.revision ?? 0);
}

/** Whether there is a token that was shown, apart from one. */
function* hasShown(exceptHash: string): SqlWork<boolean> {
  const shown = yield* query(
    "SELECT hash FROM tokens WHERE hash <> $1 AND (revoked_at IS NULL OR revoked_at <> created_at) LIMIT 1",
    [exceptHash],
  );
  return shown.length > 0;
}

/** The tokens of some names that are not revoked, oldest first. */
function unrevoked(names: readonly string[]): SqlWork<readonly TokenRow[]> {
  return query<TokenRow>(
    `SELECT * FROM tokens WHERE name IN ${list(names)} AND revoked_at IS NULL ORDER BY created_at, hash`,
    names,
  );
}

/** INSERT … SELECT, as Citus has no subqueries in VALUES. */
function* insert(
  { hash, name, createdAt, expiresAt }: NewToken,
  predecessorsEndAt: number | null = null,
): SqlWork<void> {
  yield* query(
    `INSERT INTO tokens (hash, name, created_at, expires_at, predecessors_end_at, creator, revision)
     SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS bigint), CAST($5 AS bigint),
            CAST($6 AS integer), coalesce(max(revision), 0) + 1
     FROM tokens WHERE true ON CONFLICT (hash) DO NOTHING`,
    [hash, name, createdAt, expiresAt, predecessorsEndAt, yield* storeCreatorKey(name)],
  );
}

function* findCreatorKey(name: string): SqlWork<number | undefined> {
  const [row] = yield* query<{ id: bigint | number }>("SELECT id FROM creators WHERE name = $1", [
    toCreatorName(name),
  ]);
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
      [toCreatorName(name)],
    );
  }
}
