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
      const any = this.#database.query(
        "SELECT 1 FROM tokens WHERE revoked_at IS NULL OR revoked_at <> created_at",
      );
      return any.get() === null && this.#insert(token);
    });
  }

  async rotate(rotation: Rotation): Promise<RotationOutcome> {
    return changeInTurn(this.#database, () => {
      const namesakes = this.#database.query<TokenRow, [string]>(
        "SELECT * FROM tokens WHERE name = ? AND revoked_at IS NULL ORDER BY created_at, hash",
      );
      const outcome = rotationOutcome(tokensFrom(namesakes.all(rotation.name)), rotation);
      if (typeof outcome === "object") this.#insert(outcome.token, rotation.overlapEndsAt);
      return outcome;
    });
  }

  async withdraw(hash: string): Promise<void> {
    changeInTurn(this.#database, () => {
      const revoke = this.#database.query(
        "UPDATE tokens SET revoked_at = created_at WHERE hash = ? AND revoked_at IS NULL",
      );
      revoke.run(hash);
    });
  }

  async revoke(name: string, revokedAt: number): Promise<boolean> {
    return changeInTurn(this.#database, () => {
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
}

function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}
