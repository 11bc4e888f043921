// The PostgreSQL engine, for any database with PostgreSQL's protocol and durable commits.

import type { NewPlant } from "../../contract/plant.ts";
import { OperatorError } from "../../operator-error.ts";
import type { EditOutcome, PlantEdit } from "../plant-edit.ts";
import type { PlantIndexes } from "../plant-reader.ts";
import type {
  Distribution,
  ExportFilter,
  NewEntry,
  OnUnavailable,
  OpenMode,
  Outcome,
  ReadablePlantStore,
  StoredPlant,
  StoreEvents,
  StoreSize,
  StoreWait,
} from "../plant-store.ts";
import type { SqlAccess } from "../sql-connection.ts";
import { CitusLanes } from "./citus/citus.ts";
import { citusVersion, distribute } from "./citus/distribution.ts";
import { type PostgresUrl, parsePostgresUrl, toLocation } from "./connection-url.ts";
import { DatabaseError, type Pool } from "./driver.ts";
import { classifyError, errorReason, rejectForOperator } from "./errors.ts";
import { PostgresIndexes } from "./indexes.ts";
import { assertSchema, migrate, newestVersion } from "./migrations.ts";
import { countPlants, exportPlants, PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";
import { PostgresReader } from "./reader.ts";
import { PostgresSqlConnection } from "./sql-connection.ts";
import { PostgresTokens } from "./tokens.ts";

const undefinedFunction = "42883";

export class PostgresStore implements ReadablePlantStore {
  readonly engine = "postgres";
  readonly location: string;
  readonly wasCreated: boolean;
  readonly tokens: PostgresTokens;
  readonly indexes: PlantIndexes;
  readonly batchesInFlightMax: number;
  /** Those of Citus, for a server. */
  readonly lanes: CitusLanes | undefined;
  readonly #url: PostgresUrl;
  readonly #primary: Primary;
  readonly #plants: PostgresPlants;

  private constructor(
    url: PostgresUrl,
    primary: Primary,
    wasCreated: boolean,
    onUnavailable: OnUnavailable,
    lanes: CitusLanes | undefined,
  ) {
    this.location = toLocation(url);
    this.wasCreated = wasCreated;
    this.batchesInFlightMax = lanes === undefined ? url.connectionsMax : batchesInLane(url.connectionsMax);
    this.lanes = lanes;
    this.#url = url;
    this.#primary = primary;
    this.#plants = new PostgresPlants(primary, onUnavailable);
    this.tokens = new PostgresTokens(primary);
    this.indexes = new PostgresIndexes(primary);
  }

  /** Opens the store at a URL without its scheme, see parsePostgresUrl; `create` creates or upgrades the schema. Rejects with an OperatorError. */
  static open(
    address: string,
    mode: OpenMode,
    onUnavailable: OnUnavailable,
    wait: StoreWait,
  ): Promise<PostgresStore> {
    return PostgresStore.#open(address, mode, onUnavailable, wait, async () => undefined);
  }

  /** Opens the store for a server, which has lanes on Citus. */
  static openForServer(
    address: string,
    mode: OpenMode,
    events: StoreEvents,
    wait: StoreWait,
  ): Promise<PostgresStore> {
    return PostgresStore.#open(address, mode, events.onUnavailable, wait, (primary, url) =>
      CitusLanes.open(primary, url, events),
    );
  }

  static async #open(
    address: string,
    mode: OpenMode,
    onUnavailable: OnUnavailable,
    wait: StoreWait,
    openLanes: (primary: Primary, url: PostgresUrl) => Promise<CitusLanes | undefined>,
  ): Promise<PostgresStore> {
    const url = parsePostgresUrl(address);
    const primary = new Primary(url, wait);
    try {
      const wasCreated = mode === "create" ? await migrate(primary) : false;
      if (mode !== "create") await assertSchema(primary);
      const lanes = await openLanes(primary, url);
      primary.finishOpening();
      return new PostgresStore(url, primary, wasCreated, onUnavailable, lanes);
    } catch (error) {
      await primary.close();
      if (error instanceof OperatorError || classifyError(error) === "internalError") throw error;
      throw new OperatorError(
        `cannot open the store: ${errorReason(error)}; check that the database runs and --database is right`,
      );
    }
  }

  create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    return this.#plants.create(batch);
  }

  edit(edit: PlantEdit): Promise<EditOutcome> {
    return this.#plants.edit(edit);
  }

  async assertWritable(): Promise<void> {
    await this.#primary.once(async (pool) => {
      // Checks the privilege to insert plants without inserting one, and commits a change that changes nothing.
      await pool.query("INSERT INTO plants (id, name) SELECT 0, '' WHERE false");
      await pool.query(
        "UPDATE tokens SET revoked_at = revoked_at WHERE hash = (SELECT min(hash) FROM tokens)",
      );
    });
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  export(filter: ExportFilter): AsyncIterable<readonly StoredPlant[]> {
    return exportPlants(this.#primary, filter);
  }

  count(filter: ExportFilter): Promise<number> {
    return countPlants(this.#primary, filter);
  }

  bytesOnDisk(): Promise<number | undefined> {
    return this.#primary.once(bytesOfTables).catch(rejectForOperator);
  }

  walBytes(): undefined {
    return undefined;
  }

  async size(): Promise<StoreSize> {
    const plants = await this.count({});
    return { plants, bytes: await this.bytesOnDisk(), schemaVersion: newestVersion };
  }

  distribute(): Promise<Distribution> {
    return distribute(this.#primary);
  }

  async openReader(): Promise<PostgresReader> {
    return new PostgresReader(this.#url);
  }

  async openSql(access: SqlAccess): Promise<PostgresSqlConnection> {
    return new PostgresSqlConnection(this.#url, access);
  }

  async close(): Promise<void> {
    await this.lanes?.close();
    await this.#primary.close();
  }
}

/**
 * The batches in flight of each lane, half as many as without lanes: a plant costs Citus less in a large batch. At 256
 * connections and two workers, 4 in each lane made batches of 35 plants and 25 µs of processor time a plant, 2 made 42 and 24.
 */
function batchesInLane(connectionsMax: number): number {
  return Math.ceil(connectionsMax / 2);
}

const bytesSql = `SELECT pg_total_relation_size('plants') + pg_total_relation_size('tokens')
                         + coalesce(pg_total_relation_size(to_regclass('plant_arrivals')), 0) AS bytes`;

/** On all nodes, where the tables are distributed. */
const citusBytesSql = `SELECT sum(CASE WHEN logicalrelid IS NULL THEN pg_total_relation_size(pg_class.oid)
                                       ELSE citus_total_relation_size(pg_class.oid) END) AS bytes
                       FROM pg_class LEFT JOIN pg_dist_partition ON logicalrelid = pg_class.oid
                       WHERE pg_class.oid IN (to_regclass('plants'), to_regclass('tokens'))`;

/** The tables with their indexes; the WAL belongs to the cluster, and is not counted. */
async function bytesOfTables(pool: Pool): Promise<number | undefined> {
  try {
    const { rows } = await pool.query<{ bytes: string }>(
      (await citusVersion(pool)) === undefined ? bytesSql : citusBytesSql,
    );
    return Number(rows[0]?.bytes);
  } catch (error) {
    // CockroachDB has no such function.
    if (error instanceof DatabaseError && error.code === undefinedFunction) return undefined;
    throw error;
  }
}
