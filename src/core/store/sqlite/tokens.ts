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
import { runImmediateTransaction } from "./connection.ts";
import { creatorKey, findCreatorKey } from "./creators.ts";
import type { Database } from "./driver.ts";

export class SqliteTokens implements TokenStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(token: NewToken): Promise<boolean> {
    return runImmediateTransaction(this.#database, () => {
      const namesakes = this.#database.query("SELECT 1 FROM tokens WHERE name = ? AND revoked_at IS NULL");
      return namesakes.get(token.name) === null && this.#insert(token);
    });
  }

  async addFirst(token: NewToken): Promise<boolean> {
    return runImmediateTransaction(this.#database, () => {
      const any = this.#database.query(
        "SELECT 1 FROM tokens WHERE revoked_at IS NULL OR revoked_at <> created_at",
      );
      return any.get() === null && this.#insert(token);
    });
  }

  async rotate(rotation: Rotation): Promise<RotationOutcome> {
    return runImmediateTransaction(this.#database, () => {
      const outcome = planRotation(toTokenRecords(this.#unrevoked(rotation.name)), rotation);
      if (typeof outcome === "object") this.#insert(outcome.token, rotation.overlapEndsAt);
      return outcome;
    });
  }

  async revokeByHash(hash: string): Promise<void> {
    runImmediateTransaction(this.#database, () => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = created_at, revision = ? WHERE hash = ? AND revoked_at IS NULL",
      );
      revoke.run(this.#nextRevision(), hash);
    });
  }

  async revoke(name: string, revokedAt: number): Promise<boolean> {
    return runImmediateTransaction(this.#database, () => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = max(?, created_at + 1), revision = ? WHERE name = ? AND revoked_at IS NULL",
      );
      return Number(revoke.run(BigInt(revokedAt), this.#nextRevision(), name).changes) > 0;
    });
  }

  /** Waits for the lock no longer than a batch does: a server's batches wait behind it. */
  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    const record = this.#database.query(
      "UPDATE tokens SET last_used_at = ?1 WHERE hash = ?2 AND (last_used_at IS NULL OR last_used_at < ?1)",
    );
    const recordAll = this.#database.transaction(() => {
      for (const { hash, minute } of uses) record.run(BigInt(minute), hash);
    });
    recordAll.immediate();
  }

  async list(): Promise<TokenRecord[]> {
    return toTokenRecords(
      this.#database.query<TokenRow, []>("SELECT * FROM tokens ORDER BY created_at, hash").all(),
    );
  }

  async readActive(now: number): Promise<TokensRead> {
    // Read before the tokens: a change between the two is read again later, and none is missed.
    const revision = Number(this.#revision());
    // An expired token may still hold when the older tokens of its name end.
    const rows = this.#database
      .query<TokenRow, [bigint]>(
        `SELECT * FROM tokens
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ? OR predecessors_end_at IS NOT NULL)
         ORDER BY created_at, hash`,
      )
      .all(BigInt(now));
    return { revision, tokens: toTokenRecords(rows) };
  }

  async readChanges(since: number): Promise<TokensRead> {
    const latest = Number(this.#revision());
    if (latest <= since) return { revision: latest, tokens: [] };
    const rows = this.#database
      .query<TokenRow, [bigint]>(
        `SELECT * FROM tokens WHERE revision > ?1
         UNION
         SELECT * FROM tokens
         WHERE revoked_at IS NULL AND name IN (SELECT name FROM tokens WHERE revision > ?1)
         ORDER BY created_at, hash`,
      )
      .all(BigInt(since));
    return { revision: latestRevision(rows, latest), tokens: toTokenRecords(rows) };
  }

  async creatorKey(name: string): Promise<number> {
    return (
      findCreatorKey(this.#database, name) ??
      runImmediateTransaction(this.#database, () => creatorKey(this.#database, name))
    );
  }

  async find(hashes: readonly string[]): Promise<TokenRecord[]> {
    const selectName = this.#database.query<{ name: string }, [string]>(
      "SELECT name FROM tokens WHERE hash = ? AND revoked_at IS NULL",
    );
    const names = new Set(hashes.flatMap((hash) => selectName.get(hash)?.name ?? []));
    return [...names].flatMap((name) => toTokenRecords(this.#unrevoked(name)));
  }

  /** Waits for the lock no longer than a batch does, as recordUses. */
  async removeEnded({ endedBefore, afterHash, rowsMax }: Removal): Promise<Removed> {
    const remove = this.#database.transaction((): Removed => {
      const rows = this.#database
        .query<TokenRow, [string, bigint]>("SELECT * FROM tokens WHERE hash > ? ORDER BY hash LIMIT ?")
        .all(afterHash, BigInt(rowsMax));
      const kept = new Set(
        this.#database
          .query<{ hash: string }, []>(keptTokensSql)
          .all()
          .map(({ hash }) => hash),
      );
      const { revoked, names } = removalCandidates(rows, endedBefore);
      const removable = revoked.filter((hash) => !kept.has(hash));
      for (const name of names)
        removable.push(...removableTokens(toTokenRecords(this.#unrevoked(name)), endedBefore, kept));
      const removed = removable.slice(0, rowsMax);
      const removeOne = this.#database.query("DELETE FROM tokens WHERE hash = ?");
      for (const hash of removed) removeOne.run(hash);
      return { count: removed.length, nextHash: rows.length < rowsMax ? undefined : rows.at(-1)?.hash };
    });
    return remove.immediate();
  }

  #unrevoked(name: string): TokenRow[] {
    return this.#database
      .query<TokenRow, [string]>(
        "SELECT * FROM tokens WHERE name = ? AND revoked_at IS NULL ORDER BY created_at, hash",
      )
      .all(name);
  }

  #revision(): bigint {
    const latest = this.#database
      .query<{ revision: bigint | null }, []>("SELECT max(revision) AS revision FROM tokens")
      .get();
    return latest?.revision ?? 0n;
  }

  /** Call it in a transaction that holds the write lock, so that no two changes get the same revision. */
  #nextRevision(): bigint {
    return this.#revision() + 1n;
  }

  #insert(token: NewToken, predecessorsEndAt: number | null = null): true {
    this.#database
      .query(
        `INSERT INTO tokens (hash, name, created_at, expires_at, predecessors_end_at, revision, creator)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        token.hash,
        token.name,
        BigInt(token.createdAt),
        bigintOrNull(token.expiresAt),
        bigintOrNull(predecessorsEndAt),
        this.#nextRevision(),
        creatorKey(this.#database, token.name),
      );
    return true;
  }
}

function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
