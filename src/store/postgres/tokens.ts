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
import type { PoolClient } from "./driver.ts";
import { rejectForOperator } from "./failures.ts";
import type { Primary } from "./primary.ts";

const columns = "hash, name, created_at, expires_at, revoked_at, predecessors_end_at, last_used_at";

export class PostgresTokens implements TokenStore {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
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

  addFirst(token: NewToken): Promise<boolean> {
    return this.#change(async (connection) => {
      const any = await connection.query(
        "SELECT 1 FROM tokens WHERE hash <> $1 AND (revoked_at IS NULL OR revoked_at <> created_at) LIMIT 1",
        [token.hash],
      );
      if (any.rows.length > 0) return false;
      await insert(connection, token);
      return true;
    });
  }

  rotate(rotation: Rotation): Promise<RotationOutcome> {
    return this.#change(async (connection) => {
      const { rows } = await connection.query<TokenRow>(
        `SELECT ${columns} FROM tokens WHERE name = $1 AND revoked_at IS NULL ORDER BY created_at, hash`,
        [rotation.name],
      );
      // A repetition after an unseen commit finds its own work, and perhaps what came after it.
      const own = rows.findIndex(({ hash }) => hash === rotation.hash);
      const before = own === -1 ? rows : rows.slice(0, own);
      const outcome = rotationOutcome(tokensFrom(before), rotation);
      if (typeof outcome === "object") await insert(connection, outcome.token, rotation.overlapEndsAt);
      return outcome;
    });
  }

  async withdraw(hash: string): Promise<void> {
    await this.#change((connection) =>
      connection.query("UPDATE tokens SET revoked_at = created_at WHERE hash = $1 AND revoked_at IS NULL", [
        hash,
      ]),
    );
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

  /**
   * READ COMMITTED whatever the database's default, and the rows locked in one order: servers that record the same
   * tokens at the same moment then wait for each other, and none of them fails.
   */
  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    const recording = this.#primary.runOnceOnConnection(async (connection) => {
      await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED");
      await connection.query(
        `WITH later AS (
           SELECT tokens.hash, minute
           FROM tokens JOIN unnest($1::text[], $2::bigint[]) AS uses (hash, minute) ON uses.hash = tokens.hash
           WHERE last_used_at IS NULL OR last_used_at < minute
           ORDER BY tokens.hash FOR UPDATE OF tokens
         )
         UPDATE tokens SET last_used_at = minute FROM later WHERE later.hash = tokens.hash`,
        [uses.map(({ hash }) => hash), uses.map(({ minute }) => minute)],
      );
      await connection.query("COMMIT");
    });
    await recording.catch(rejectForOperator);
  }

  async list(): Promise<TokenRecord[]> {
    const sql = `SELECT ${columns} FROM tokens ORDER BY created_at, hash`;
    const { rows } = await this.#primary
      .runOnce((pool) => pool.query<TokenRow>(sql))
      .catch(rejectForOperator);
    return tokensFrom(rows);
  }

  /** One change in a serializable transaction: of two that both find a name free, one fails with 40001 and looks again. */
  #change<Result>(change: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    const changing = this.#primary.runOnConnection(async (connection) => {
      await connection.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
      const changed = await change(connection);
      await connection.query("COMMIT");
      return changed;
    });
    return changing.catch(rejectForOperator);
  }
}

async function insert(
  connection: PoolClient,
  { hash, name, createdAt, expiresAt }: NewToken,
  predecessorsEndAt: number | null = null,
): Promise<void> {
  await connection.query(
    `INSERT INTO tokens (hash, name, created_at, expires_at, predecessors_end_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (hash) DO NOTHING`,
    [hash, name, createdAt, expiresAt, predecessorsEndAt],
  );
}
