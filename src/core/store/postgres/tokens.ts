// The tokens table.

import {
  keptTokensSql,
  latestRevision,
  type NewToken,
  planRotation,
  type Removal,
  type Removed,
  type Rotation,
  type RotationOutcome,
  removableTokens,
  removalCandidates,
  type TokenRecord,
  type TokenRow,
  type TokenStore,
  type TokensRead,
  type TokenUse,
  toTokenRecords,
} from "../token-store.ts";
import type { ClusterSupport } from "./cluster.ts";
import { begin, commit } from "./connection.ts";
import { creatorKey } from "./creators.ts";
import type { Pool, PoolClient } from "./driver.ts";
import { rejectForOperator } from "./errors.ts";
import type { Primary } from "./primary.ts";

const columns =
  "hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at, creator, revision";

/**
 * The next revision. Changes are serializable transactions, so of two that read the same revision one fails and is retried
 * after the other: a reader that sees a revision sees all lower ones.
 */
const nextRevision = "(SELECT coalesce(max(revision), 0) + 1 FROM tokens)";

export class PostgresTokens implements TokenStore {
  readonly #primary: Primary;
  readonly #cluster: Pick<ClusterSupport, "serializeTokenChange">;

  constructor(primary: Primary, cluster: Pick<ClusterSupport, "serializeTokenChange">) {
    this.#primary = primary;
    this.#cluster = cluster;
  }

  add(token: NewToken): Promise<boolean> {
    return this.#change(async (connection) => {
      const namesakes = await connection.query(
        "SELECT 1 FROM tokens WHERE name = $1 AND revoked_at IS NULL AND hash <> $2",
        [token.name, token.hash],
      );
      if (namesakes.rows.length > 0) return false;
      await insert(connection, token);
      return true;
    });
  }

  async addFirst(token: NewToken): Promise<boolean> {
    const others =
      "SELECT 1 FROM tokens WHERE hash <> $1 AND (revoked_at IS NULL OR revoked_at <> created_at) LIMIT 1";
    // Every server asks at its start, also while tokens can be read and not changed: a node of Citus is down.
    if ((await this.#rows(others, [token.hash])).length > 0) return false;
    return this.#change(async (connection) => {
      const any = await connection.query(others, [token.hash]);
      if (any.rows.length > 0) return false;
      await insert(connection, token);
      return true;
    });
  }

  rotate(rotation: Rotation): Promise<RotationOutcome> {
    return this.#change(async (connection) => {
      const rows = await unrevoked(connection, [rotation.name]);
      // A retry after a commit without a response finds its own token, and perhaps later ones.
      const own = rows.findIndex(({ hash }) => hash === rotation.hash);
      const before = own === -1 ? rows : rows.slice(0, own);
      const outcome = planRotation(toTokenRecords(before), rotation);
      if (typeof outcome === "object") await insert(connection, outcome.token, rotation.overlapEndsAt);
      return outcome;
    });
  }

  async revokeByHash(hash: string): Promise<void> {
    await this.#change((connection) =>
      connection.query(
        `UPDATE tokens SET revoked_at = created_at, revision = ${nextRevision} WHERE hash = $1 AND revoked_at IS NULL`,
        [hash],
      ),
    );
  }

  revoke(name: string, revokedAt: number): Promise<boolean> {
    return this.#change(async (connection) => {
      // The time is part of the condition, so that a retry after a commit without a response finds its own change.
      const { rowCount } = await connection.query(
        `UPDATE tokens SET revoked_at = greatest($1::int8, created_at + 1), revision = ${nextRevision}
         WHERE name = $2 AND (revoked_at IS NULL OR revoked_at = greatest($1::int8, created_at + 1))`,
        [revokedAt, name],
      );
      return (rowCount ?? 0) > 0;
    });
  }

  /**
   * READ COMMITTED whatever the database's default, and the rows locked in one order: servers that record the same tokens at
   * the same time then wait for each other, and none fails.
   */
  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    if (uses.length === 0) return;
    const recording = this.#primary.onceOnConnection(async (connection) => {
      await begin(connection, "ISOLATION LEVEL READ COMMITTED");
      // Two statements, as Citus loses a column of a CTE that locks rows.
      const hashes = uses.map(({ hash }) => hash);
      const minutes = uses.map(({ minute }) => minute);
      await connection.query(
        `SELECT 1 FROM tokens WHERE hash = ANY ($1::text[]) AND (last_used_at IS NULL OR last_used_at < $2)
         ORDER BY hash FOR UPDATE`,
        [hashes, Math.max(...minutes)],
      );
      await connection.query(
        `UPDATE tokens SET last_used_at = minute
         FROM (SELECT unnest($1::text[]) AS used_hash, unnest($2::bigint[]) AS minute) AS uses
         WHERE hash = used_hash AND (last_used_at IS NULL OR last_used_at < minute)`,
        [hashes, minutes],
      );
      await connection.query("COMMIT");
    });
    await recording.catch(rejectForOperator);
  }

  async list(): Promise<TokenRecord[]> {
    return toTokenRecords(await this.#rows(`SELECT ${columns} FROM tokens ORDER BY created_at, hash`, []));
  }

  async readActive(now: number): Promise<TokensRead> {
    // Read before the tokens: a change between the two is read again later, and none is missed.
    const revision = await this.#revision();
    // An expired token may still hold when the older tokens of its name end.
    const rows = await this.#rows(
      `SELECT ${columns} FROM tokens
       WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1 OR predecessors_end_at IS NOT NULL)
       ORDER BY created_at, hash`,
      [now],
    );
    return { revision, tokens: toTokenRecords(rows) };
  }

  async readChanges(since: number): Promise<TokensRead> {
    // Reads one entry at the end of the index, also while the planner has no statistics yet.
    const latest = await this.#revision();
    if (latest <= since) return { revision: latest, tokens: [] };
    const rows = await this.#rows(
      `SELECT ${columns} FROM tokens WHERE revision > $1
       UNION
       SELECT ${columns} FROM tokens
       WHERE revoked_at IS NULL AND name IN (SELECT name FROM tokens WHERE revision > $1)
       ORDER BY created_at, hash`,
      [since],
    );
    return { revision: latestRevision(rows, latest), tokens: toTokenRecords(rows) };
  }

  async creatorKey(name: string): Promise<number> {
    return this.#primary.withRetry((pool) => creatorKey(pool, name)).catch(rejectForOperator);
  }

  async find(hashes: readonly string[]): Promise<TokenRecord[]> {
    const rows = await this.#rows(
      `SELECT ${columns} FROM tokens
       WHERE revoked_at IS NULL
         AND name IN (SELECT name FROM tokens WHERE hash = ANY ($1::text[]) AND revoked_at IS NULL)
       ORDER BY created_at, hash`,
      [hashes],
    );
    return toTokenRecords(rows);
  }

  removeEnded({ endedBefore, afterHash, rowsMax }: Removal): Promise<Removed> {
    return this.#change(async (connection) => {
      const { rows } = await connection.query<TokenRow>(
        `SELECT ${columns} FROM tokens WHERE hash > $1 ORDER BY hash LIMIT $2`,
        [afterHash, rowsMax],
      );
      const nextHash = rows.length < rowsMax ? undefined : rows.at(-1)?.hash;
      const { revoked, names } = removalCandidates(rows, endedBefore);
      if (revoked.length === 0 && names.length === 0) return { count: 0, nextHash };
      const keptRows = await connection.query<{ hash: string }>(keptTokensSql);
      const kept = new Set(keptRows.rows.map(({ hash }) => hash));
      const removable = revoked.filter((hash) => !kept.has(hash));
      const records = toTokenRecords(names.length === 0 ? [] : await unrevoked(connection, names));
      for (const namesakes of Map.groupBy(records, ({ name }) => name).values())
        removable.push(...removableTokens(namesakes, endedBefore, kept));
      const removed = removable.slice(0, rowsMax);
      if (removed.length > 0)
        await connection.query("DELETE FROM tokens WHERE hash = ANY ($1::text[])", [removed]);
      return { count: removed.length, nextHash };
    });
  }

  async #revision(): Promise<number> {
    const rows = await this.#rows(`SELECT ${columns} FROM tokens ORDER BY revision DESC LIMIT 1`, []);
    return latestRevision(rows, 0);
  }

  async #rows(sql: string, values: readonly unknown[]): Promise<TokenRow[]> {
    const reading = this.#primary.once((pool: Pool) => pool.query<TokenRow>(sql, [...values]));
    const { rows } = await reading.catch(rejectForOperator);
    return rows;
  }

  /** Runs a change in a serializable transaction: of two that both find a name free, one fails with 40001 and is retried. */
  #change<Result>(change: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    let attempts = 0;
    const changing = this.#primary.withRetryOnConnection(async (connection) => {
      attempts++;
      await begin(connection, "ISOLATION LEVEL SERIALIZABLE");
      await this.#cluster.serializeTokenChange(connection);
      const changed = await change(connection);
      // A retry that finds its change already made would commit nothing, and so not wait for the standby, which may not have
      // the change yet. The commit of a row lock does wait.
      if (attempts > 1) await connection.query("SELECT 1 FROM tokens ORDER BY hash LIMIT 1 FOR UPDATE");
      await commit(connection);
      return changed;
    });
    return changing.catch(rejectForOperator);
  }
}

/** The tokens of some names that are not revoked, oldest first. */
async function unrevoked(connection: PoolClient, names: readonly string[]): Promise<TokenRow[]> {
  const { rows } = await connection.query<TokenRow>(
    `SELECT ${columns} FROM tokens WHERE name = ANY ($1::text[]) AND revoked_at IS NULL ORDER BY created_at, hash`,
    [names],
  );
  return rows;
}

/** INSERT … SELECT, as Citus has no subqueries in VALUES. */
async function insert(
  connection: PoolClient,
  { hash, name, createdAt, expiresAt }: NewToken,
  predecessorsEndAt: number | null = null,
): Promise<void> {
  await connection.query(
    `INSERT INTO tokens (hash, name, created_at, expires_at, predecessors_end_at, creator, revision)
     SELECT $1::text, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::integer, coalesce(max(revision), 0) + 1
     FROM tokens ON CONFLICT (hash) DO NOTHING`,
    [hash, name, createdAt, expiresAt, predecessorsEndAt, await creatorKey(connection, name)],
  );
}
