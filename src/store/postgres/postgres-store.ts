// The PostgreSQL engine: any server that speaks PostgreSQL's protocol and keeps what it commits.

import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type { ObserveUnavailable, OpenMode, Outcome, ReadablePlantStore } from "../plant-store.ts";
import { type PostgresAddress, readPostgresAddress } from "./address.ts";
import { failureOf, reasonOf } from "./failures.ts";
import { assertSchema, migrate } from "./migrations.ts";
import { PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";
import { PostgresTokens } from "./tokens.ts";

export class PostgresStore implements ReadablePlantStore {
  readonly engine = "postgres";
  readonly tokens: PostgresTokens;
  readonly batchesInFlightMax: number;
  readonly #primary: Primary;
  readonly #plants: PostgresPlants;

  private constructor(address: PostgresAddress, primary: Primary, observe: ObserveUnavailable) {
    this.batchesInFlightMax = address.connectionsMax;
    this.#primary = primary;
    this.#plants = new PostgresPlants(primary, observe);
    this.tokens = new PostgresTokens(primary);
  }

  /** Opens the store at an address without its scheme, see readPostgresAddress. `create` makes or upgrades the schema. */
  static async open(rest: string, mode: OpenMode, observe: ObserveUnavailable): Promise<PostgresStore> {
    const address = readPostgresAddress(rest);
    const primary = new Primary(address);
    try {
      await (mode === "create" ? migrate(primary) : assertSchema(primary));
      return new PostgresStore(address, primary, observe);
    } catch (error) {
      await primary.close();
      if (error instanceof OperatorError || failureOf(error) === "fault") throw error;
      throw new OperatorError(
        `cannot open the store: ${reasonOf(error)}; see that the database runs and --database is right`,
      );
    }
  }

  create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    return this.#plants.create(batch);
  }

  async assertWritable(): Promise<void> {
    await this.#primary.runOnce(async (pool) => {
      // Whether plants may be inserted, without inserting one; and a commit that leaves all as it was.
      await pool.query("INSERT INTO plants (id, name, tag) SELECT 0, '', '' WHERE false");
      await pool.query(
        "UPDATE tokens SET revoked_at = revoked_at WHERE hash = (SELECT min(hash) FROM tokens)",
      );
    });
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  export(): AsyncIterable<NewPlant> {
    return this.#plants.export();
  }

  close(): Promise<void> {
    return this.#primary.close();
  }
}
