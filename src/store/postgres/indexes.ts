// The optional indexes: created and dropped while servers run, independent of the schema version.

import { OperatorError } from "../../operator-error.ts";
import {
  type IndexName,
  type IndexState,
  type IndexStates,
  indexedCharacters,
  type PlantIndexes,
} from "../plant-reader.ts";
import { begin } from "./connection.ts";
import { citusVersion } from "./distribution.ts";
import type { Pool, PoolClient } from "./driver.ts";
import { isLockTimeout, rejectForOperator } from "./errors.ts";
import type { Primary } from "./primary.ts";

/** The time limit for building an index, which takes long in a large store. */
const indexMsMax = 6 * 3_600_000;

/** How long a change waits for its lock: creates queue behind it, so it is shorter than the time limit of a batch. */
const lockMsMax = 500;

interface Index {
  /** The relation that exists if the index does. */
  readonly relation: string;
  readonly create: readonly string[];
  readonly drop: readonly string[];
  /** Whether the statements run outside a transaction, as CONCURRENTLY requires. */
  readonly isConcurrent: boolean;
}

const indexes: Readonly<Record<IndexName, Index>> = {
  newest: {
    relation: "plant_arrivals",
    // A statement trigger costs a batch one more insert, and not one for each plant. SECURITY DEFINER: the role of a server
    // needs no privileges on the table.
    create: [
      "CREATE TABLE plant_arrivals (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL)",
      `CREATE FUNCTION plants_arrive() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
       BEGIN INSERT INTO plant_arrivals (id) SELECT id FROM arrived; RETURN NULL; END $$`,
      "DO $$ BEGIN EXECUTE format('ALTER FUNCTION plants_arrive() SET search_path = %I, pg_temp', current_schema()); END $$",
      `CREATE TRIGGER plants_arrive AFTER INSERT ON plants REFERENCING NEW TABLE AS arrived
       FOR EACH STATEMENT EXECUTE FUNCTION plants_arrive()`,
      // Every role that can read plants can read their order.
      `DO $$ DECLARE reader text; BEGIN
         FOR reader IN
           SELECT DISTINCT coalesce(quote_ident(rolname), 'PUBLIC')
           FROM pg_class CROSS JOIN aclexplode(relacl) AS granted LEFT JOIN pg_roles ON pg_roles.oid = grantee
           WHERE pg_class.oid = 'plants'::regclass AND privilege_type = 'SELECT'
         LOOP EXECUTE 'GRANT SELECT ON plant_arrivals TO ' || reader; END LOOP;
       END $$`,
    ],
    drop: [
      "DROP TRIGGER plants_arrive ON plants",
      "DROP FUNCTION plants_arrive",
      "DROP TABLE plant_arrivals",
    ],
    isConcurrent: false,
  },
  name: {
    relation: "plants_by_name",
    create: [
      `CREATE INDEX CONCURRENTLY plants_by_name ON plants ((left(name, ${indexedCharacters}) COLLATE "C"), id)`,
    ],
    drop: ["DROP INDEX CONCURRENTLY plants_by_name"],
    isConcurrent: true,
  },
  tag: {
    relation: "plants_by_tag",
    create: [
      `CREATE INDEX CONCURRENTLY plants_by_tag ON plants ((left(tag, ${indexedCharacters}) COLLATE "C"), id) WHERE tag IS NOT NULL`,
    ],
    drop: ["DROP INDEX CONCURRENTLY plants_by_tag"],
    isConcurrent: true,
  },
};

export class PostgresIndexes implements PlantIndexes {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  states(): Promise<IndexStates> {
    return this.#primary.once(indexStates).catch(rejectForOperator);
  }

  async create(name: IndexName): Promise<void> {
    const state = (await this.states())[name];
    assertUnchanging(name, state);
    if (state === "broken")
      throw new OperatorError(`the index ${name} is broken; drop it, and create it again`);
    if (state !== "none") return;
    if (name === "newest") await this.#primary.once(assertTriggers).catch(rejectForOperator);
    await this.#change(indexes[name], "create");
  }

  async drop(name: IndexName): Promise<void> {
    const state = (await this.states())[name];
    // A drop would wait until the other session has finished.
    assertUnchanging(name, state);
    if (state !== "none") await this.#change(indexes[name], "drop");
  }

  async #change(index: Index, change: "create" | "drop"): Promise<void> {
    const changing = this.#primary.onceOnConnection(async (connection) => {
      if (!index.isConcurrent) await begin(connection, "", { statementMs: indexMsMax, lockMs: lockMsMax });
      for (const sql of index[change]) await runLong(connection, sql);
      if (!index.isConcurrent) await connection.query("COMMIT");
    });
    await changing.catch(explainLock).catch(rejectForOperator);
  }
}

function assertUnchanging(name: IndexName, state: IndexState): void {
  if (state !== "building" && state !== "dropping") return;
  const verb = state === "building" ? "built" : "dropped";
  throw new OperatorError(
    `the index ${name} is being ${verb} by another session; wait until "plantstore index list" shows that it has ended`,
  );
}

async function assertTriggers(pool: Pool): Promise<void> {
  if ((await citusVersion(pool)) === undefined) return;
  throw new OperatorError("the index newest works by a trigger, which Citus has not on distributed tables");
}

function explainLock(error: unknown): never {
  if (!isLockTimeout(error)) throw error;
  throw new OperatorError(
    "another transaction holds a lock on the table plants, perhaps a backup; try again when it has ended",
  );
}

async function runLong(connection: PoolClient, text: string): Promise<void> {
  const statement = { text, query_timeout: indexMsMax };
  await connection.query(statement);
}

async function indexStates(pool: Pool): Promise<IndexStates> {
  const relations = Object.values(indexes).map(({ relation }) => relation);
  const { rows } = await pool.query<{ relation: string; is_valid: boolean }>(
    `SELECT relname AS relation, coalesce(indisvalid, true) AS is_valid
     FROM pg_class LEFT JOIN pg_index ON indexrelid = pg_class.oid
     WHERE relname = ANY ($1::text[]) AND pg_table_is_visible(pg_class.oid)`,
    [relations],
  );
  const changing = rows.every(({ is_valid }) => is_valid) ? new Map() : await changingIndexes(pool);
  const state = (name: IndexName): IndexState => {
    const found = rows.find(({ relation }) => relation === indexes[name].relation);
    if (found === undefined) return "none";
    return found.is_valid ? "ready" : (changing.get(found.relation) ?? "broken");
  };
  return { newest: state("newest"), name: state("name"), tag: state("tag") };
}

/**
 * The indexes that are being built or dropped. A session that drops one concurrently holds a lock on it. A session that
 * builds one has a row in pg_stat_progress_create_index, of which a role without pg_read_all_stats sees only the process
 * id; then the process is matched by its lock on the table.
 */
async function changingIndexes(pool: Pool): Promise<Map<string, "building" | "dropping">> {
  const { rows } = await pool.query<{ relation: string; change: "building" | "dropping" }>(
    `SELECT relname AS relation, CASE WHEN is_locked THEN 'dropping' ELSE 'building' END AS change
     FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid CROSS JOIN LATERAL (
       SELECT EXISTS (
         SELECT FROM pg_locks
         WHERE locktype = 'relation' AND relation = indexrelid AND granted AND mode = 'ShareUpdateExclusiveLock'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       ) AS is_locked, EXISTS (
         SELECT FROM pg_stat_progress_create_index AS progress
         WHERE datname = current_database() AND (index_relid = indexrelid OR index_relid IS NULL AND EXISTS (
           SELECT FROM pg_locks
           WHERE pg_locks.pid = progress.pid AND relation = indrelid AND granted AND mode = 'ShareUpdateExclusiveLock'
         ))
       ) AS is_built
     ) AS states
     WHERE NOT indisvalid AND indrelid = 'plants'::regclass AND (is_locked OR is_built)`,
  );
  return new Map(rows.map(({ relation, change }) => [relation, change]));
}
