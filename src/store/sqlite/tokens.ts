// The tokens table.

import {
  type NewToken,
  type Rotation,
  type RotationOutcome,
  rotationOutcome,
  type TokenRecord,
  type TokenRow,
  type TokenStore,
  type TokenUse,
  tokensFrom,
} from "../token-store.ts";
import { lockWaitMs } from "./database.ts";
import { type Database, SQLiteError } from "./driver.ts";

/** How long a change waits for its turn beside a server that commits without a pause. */
const turnWaitMs = 10_000;

export class SqliteTokens implements TokenStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(token: NewToken): Promise<boolean> {
    return this.#change(() => {
      const namesakes = this.#database.query("SELECT 1 FROM tokens WHERE name = ? AND revoked_at IS NULL");
      return namesakes.get(token.name) === null && this.#insert(token);
    });
  }

  async addFirst(token: NewToken): Promise<boolean> {
    return this.#change(() => {
      const any = this.#database.query("SELECT 1 FROM tokens");
      return any.get() === null && this.#insert(token);
    });
  }

  async rotate(rotation: Rotation): Promise<RotationOutcome> {
    return this.#change(() => {
      const namesakes = this.#database.query<TokenRow, [string]>(
        "SELECT * FROM tokens WHERE name = ? AND revoked_at IS NULL ORDER BY created_at, hash",
      );
      const outcome = rotationOutcome(tokensFrom(namesakes.all(rotation.name)), rotation);
      if (typeof outcome === "object") this.#insert(outcome.token, rotation.overlapEndsAt);
      return outcome;
    });
  }

  async withdraw(hash: string, revokedAt: number): Promise<void> {
    this.#change(() => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL",
      );
      revoke.run(BigInt(revokedAt), hash);
    });
  }

  async revoke(name: string, revokedAt: number): Promise<boolean> {
    return this.#change(() => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL",
      );
      return Number(revoke.run(BigInt(revokedAt), name).changes) > 0;
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

  #insert(token: NewToken, predecessorsEndAt: number | null = null): true {
    this.#database
      .query(
        "INSERT INTO tokens (hash, name, created_at, expires_at, predecessors_end_at) VALUES (?, ?, ?, ?, ?)",
      )
      .run(
        token.hash,
        token.name,
        BigInt(token.createdAt),
        bigintOrNull(token.expiresAt),
        bigintOrNull(predecessorsEndAt),
      );
    return true;
  }

  /**
   * Runs one change in a transaction. A busy server frees the lock for some 100 µs between two commits, which
   * SQLite's own waiting, with pauses of up to 100 ms, seldom meets: so ask for it every millisecond.
   */
  #change<T>(change: () => T): T {
    const transaction = this.#database.transaction(change);
    const deadline = performance.now() + turnWaitMs;
    this.#database.run("PRAGMA busy_timeout = 0");
    try {
      for (;;) {
        try {
          return transaction.immediate();
        } catch (error) {
          const isBusy = error instanceof SQLiteError && error.code === "SQLITE_BUSY";
          if (!isBusy || performance.now() > deadline) throw error;
          Bun.sleepSync(1);
        }
      }
    } finally {
      this.#database.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    }
  }
}

function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
