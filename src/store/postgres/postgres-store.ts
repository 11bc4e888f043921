// The PostgreSQL engine: any server that speaks PostgreSQL's protocol and keeps what it commits.

import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type {
  ExportFilter,
  OnUnavailable,
  OpenMode,
  Outcome,
  ReadablePlantStore,
  StoredPlant,
  StoreSize,
  StoreWait,
} from "../plant-store.ts";
import { type PostgresUrl, parsePostgresUrl } from "./connection-url.ts";
import { DatabaseError, type Pool } from "./driver.ts";
import { failureOf, reasonOf, rejectForOperator } from "./error-classes.ts";
import { countPlants, exportPlants } from "./export.ts";
import { PostgresIndexes } from "./indexes.ts";
import { assertSchema, migrate, newestVersion } from "./migrations.ts";
import { PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";
import { PostgresReader } from "./reader.ts";
import { PostgresTokens } from "./tokens.ts";

const undefinedFunction = "42883";

export class PostgresStore implements ReadablePlantStore {
  readonly engine = "postgres";
  readonly location: string;
  readonly wasCreated: boolean;
  readonly tokens: PostgresTokens;
  readonly indexes: PostgresIndexes;
  readonly batchesInFlightMax: number;
  readonly #address: PostgresUrl;
  readonly #primary: Primary;
  readonly #plants: PostgresPlants;

  private constructor(address: PostgresUrl, primary: Primary, wasCreated: boolean, observe: OnUnavailable) {
    this.location = locationOf(address);
    this.wasCreated = wasCreated;
    this.batchesInFlightMax = address.connectionsMax;
    this.#address = address;
    this.#primary = primary;
    this.#plants = new PostgresPlants(primary, observe);
    this.tokens = new PostgresTokens(primary);
    this.indexes = new PostgresIndexes(primary);
  }

  /** Opens the store at an address without its scheme, see parsePostgresUrl. `create` makes or upgrades the schema. */
  static async open(
    rest: string,
    mode: OpenMode,
    observe: OnUnavailable,
    wait: StoreWait,
  ): Promise<PostgresStore> {
    const address = parsePostgresUrl(rest);
    const primary = new Primary(address, wait);
    try {
      const wasCreated = mode === "create" ? await migrate(primary) : false;
      if (mode !== "create") await assertSchema(primary);
      primary.finishOpening();
      return new PostgresStore(address, primary, wasCreated, observe);
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
    await this.#primary.once(async (pool) => {
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

  export(selection: ExportFilter): AsyncIterable<readonly StoredPlant[]> {
    return exportPlants(this.#primary, selection);
  }

  count(selection: ExportFilter): Promise<number> {
    return countPlants(this.#primary, selection);
  }

  bytesOnDisk(): Promise<number | undefined> {
    return this.#primary.once(bytesOfTables);
  }

  async size(): Promise<StoreSize> {
    const plants = await this.count({});
    const bytes = await this.bytesOnDisk().catch(rejectForOperator);
    return { plants, bytes, schemaVersion: newestVersion };
  }

  async openReader(): Promise<PostgresReader> {
    return new PostgresReader(this.#address);
  }

  close(): Promise<void> {
    return this.#primary.close();
  }
}

/** Its hosts and its database, as an address names them. */
function locationOf({ hosts }: PostgresUrl): string {
  const names = hosts.map(({ host, port }) => `${host?.includes(":") ? `[${host}]` : host}:${port}`);
  return `${names.join(",")}/${hosts[0]?.database}`;
}

/** With their indexes; the write-ahead log is the cluster's, and not counted. */
async function bytesOfTables(pool: Pool): Promise<number | undefined> {
  try {
    const { rows } = await pool.query<{ bytes: string }>(
      `SELECT pg_total_relation_size('plants') + pg_total_relation_size('tokens')
              + coalesce(pg_total_relation_size(to_regclass('plant_arrivals')), 0) AS bytes`,
    );
    return Number(rows[0]?.bytes);
  } catch (error) {
    // CockroachDB has no such function.
    if (error instanceof DatabaseError && error.code === undefinedFunction) return undefined;
    throw error;
  }
}
