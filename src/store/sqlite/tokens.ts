// The tokens table.

import {
  latestRevision,
  type NewToken,
  type Rotation,
  type RotationOutcome,
  removableTokens,
  removalCutoff,
  rotationOutcome,
  type TokenRecord,
  type TokenRow,
  type TokenStore,
  type TokensRead,
  type TokenUse,
  tokensFrom,
} from "../token-store.ts";
import { changeInTurn } from "./change.ts";
import type { Database } from "./driver.ts";

export class SqliteTokens implements TokenStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(token: NewToken): Promise<boolean> {
    return changeInTurn(this.#database, () => {
      const namesakes = this.#database.query("SELECT 1 FROM tokens WHERE name = ? AND revoked_at IS NULL");
      return namesakes.get(token.name) === null && this.#insert(token);
    });
  }

  async addFirst(token: NewToken): Promise<boolean> {
    return changeInTurn(this.#database, () => {
      const any = this.#database.query("SELECT 1 FROM tokens");
      return any.get() === null && this.#insert(token);
    });
  }

  async rotate(rotation: Rotation): Promise<RotationOutcome> {
    return changeInTurn(this.#database, () => {
      const outcome = rotationOutcome(tokensFrom(this.#unrevoked(rotation.name)), rotation);
      if (typeof outcome === "object") this.#insert(outcome.token, rotation.overlapEndsAt);
      return outcome;
    });
  }

  async withdraw(hash: string, revokedAt: number): Promise<void> {
    changeInTurn(this.#database, () => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = ?, revision = ? WHERE hash = ? AND revoked_at IS NULL",
      );
      revoke.run(BigInt(revokedAt), this.#nextRevision(), hash);
    });
  }

  async revoke(name: string, revokedAt: number): Promise<boolean> {
    return changeInTurn(this.#database, () => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = ?, revision = ? WHERE name = ? AND revoked_at IS NULL",
      );
      return Number(revoke.run(BigInt(revokedAt), this.#nextRevision(), name).changes) > 0;
    });
  }

  /** Waits for the lock as a batch does, and no longer: a server's batches wait behind it. */
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
    return tokensFrom(
      this.#database.query<TokenRow, []>("SELECT * FROM tokens ORDER BY created_at, hash").all(),
    );
  }

  async readActive(now: number): Promise<TokensRead> {
    // Read ahead of the tokens: a change between the two is read once more, and none is missed.
    const revision = Number(this.#revision());
    // An expired one may still say when the older ones of its name end.
    const rows = this.#database
      .query<TokenRow, [bigint]>(
        `SELECT * FROM tokens
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ? OR predecessors_end_at IS NOT NULL)
         ORDER BY created_at, hash`,
      )
      .all(BigInt(now));
    return { revision, tokens: tokensFrom(rows) };
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
    return { revision: latestRevision(rows, latest), tokens: tokensFrom(rows) };
  }

  async find(hashes: readonly string[]): Promise<TokenRecord[]> {
    const nameOf = this.#database.query<{ name: string }, [string]>(
      "SELECT name FROM tokens WHERE hash = ? AND revoked_at IS NULL",
    );
    const names = new Set(hashes.flatMap((hash) => nameOf.get(hash)?.name ?? []));
    return [...names].flatMap((name) => tokensFrom(this.#unrevoked(name)));
  }

  /** Waits for the lock as a batch does, and no longer, as recordUses. */
  async removeEnded(now: number, tokensMax: number): Promise<number> {
    const remove = this.#database.transaction((): number => {
      const latest = this.#database
        .query<{ hash: string }, []>("SELECT hash FROM tokens ORDER BY revision DESC, hash DESC LIMIT 1")
        .get();
      const activity = this.#database
        .query<{ at: bigint }, []>(
          "SELECT max(max(created_at), ifnull(max(last_used_at), 0)) AS at FROM tokens",
        )
        .get();
      if (latest === null || activity === null) return 0;
      const cutoff = removalCutoff(now, Number(activity.at));
      const removable = this.#database
        .query<{ hash: string }, [bigint, string, bigint]>(
          "SELECT hash FROM tokens WHERE revoked_at < ? AND hash <> ? LIMIT ?",
        )
        .all(BigInt(cutoff), latest.hash, BigInt(tokensMax))
        .map(({ hash }) => hash);
      if (removable.length < tokensMax) {
        for (const { name } of this.#namesWithEnded(cutoff, tokensMax))
          removable.push(...removableTokens(tokensFrom(this.#unrevoked(name)), cutoff, latest.hash));
      }
      const removed = removable.slice(0, tokensMax);
      const removeOne = this.#database.query("DELETE FROM tokens WHERE hash = ?");
      for (const hash of removed) removeOne.run(hash);
      return removed.length;
    });
    return remove.immediate();
  }

  /** Names whose oldest token that is not revoked has ended before a moment, by itself or by a rotation. */
  #namesWithEnded(cutoff: number, namesMax: number): { name: string }[] {
    const older = `SELECT 1 FROM tokens AS older
      WHERE older.name = tokens.name AND older.revoked_at IS NULL
        AND (older.created_at, older.hash) < (tokens.created_at, tokens.hash)`;
    return this.#database
      .query<{ name: string }, [bigint, bigint]>(
        `SELECT DISTINCT name FROM tokens
         WHERE revoked_at IS NULL
           AND ((expires_at < ?1 AND NOT EXISTS (${older})) OR (predecessors_end_at < ?1 AND EXISTS (${older})))
         LIMIT ?2`,
      )
      .all(BigInt(cutoff), BigInt(namesMax));
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

  /** In a transaction that holds the lock, so that no other gets the same. */
  #nextRevision(): bigint {
    return this.#revision() + 1n;
  }

  #insert(token: NewToken, predecessorsEndAt: number | null = null): true {
    this.#database
      .query(
        "INSERT INTO tokens (hash, name, created_at, expires_at, predecessors_end_at, revision) VALUES (?, ?, ?, ?, ?, ?)",
      )
      .run(
        token.hash,
        token.name,
        BigInt(token.createdAt),
        bigintOrNull(token.expiresAt),
        bigintOrNull(predecessorsEndAt),
        this.#nextRevision(),
      );
    return true;
  }
}

function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
