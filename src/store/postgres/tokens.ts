// The tokens table.

import { type TokenRecord, type TokenRow, type TokenStore, tokenFrom } from "../token-store.ts";
import type { PoolClient } from "./driver.ts";
import { rejectForOperator } from "./failures.ts";
import type { Primary } from "./primary.ts";

export class PostgresTokens implements TokenStore {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  add(token: TokenRecord): Promise<boolean> {
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

  addFirst(token: TokenRecord): Promise<boolean> {
    return this.#change(async (connection) => {
      const any = await connection.query("SELECT 1 FROM tokens WHERE hash <> $1 LIMIT 1", [token.hash]);
      if (any.rows.length > 0) return false;
      await insert(connection, token);
      return true;
    });
  }

  revoke(name: string, revokedAt: number): Promise<boolean> {
    return this.#change(async (connection) => {
      // The moment is part of the condition, so that a repetition after an unseen commit finds its own work.
      const { rowCount } = await connection.query(
        "UPDATE tokens SET revoked_at = $1 WHERE name = $2 AND (revoked_at IS NULL OR revoked_at = $1)",
        [revokedAt, name],
      );
      return (rowCount ?? 0) > 0;
    });
  }

  async list(): Promise<TokenRecord[]> {
    const sql = "SELECT hash, name, created_at, expires_at, revoked_at FROM tokens ORDER BY created_at, hash";
    const { rows } = await this.#primary
      .runOnce((pool) => pool.query<TokenRow>(sql))
      .catch(rejectForOperator);
    return rows.map(tokenFrom);
  }

  /** One change in a serializable transaction: of two that both find a name free, one fails with 40001 and looks again. */
  #change(change: (connection: PoolClient) => Promise<boolean>): Promise<boolean> {
    const changing = this.#primary.runOnConnection(async (connection) => {
      await connection.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
      const changed = await change(connection);
      await connection.query("COMMIT");
      return changed;
    });
    return changing.catch(rejectForOperator);
  }
}

async function insert(connection: PoolClient, token: TokenRecord): Promise<void> {
  await connection.query(
    `INSERT INTO tokens (hash, name, created_at, expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (hash) DO NOTHING`,
    [token.hash, token.name, token.createdAt, token.expiresAt, token.revokedAt],
  );
}
