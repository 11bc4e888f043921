// The optional indexes: created and dropped while servers run, independent of the schema version.

import { OperatorError } from "../../operator-error.ts";
import {
  type IndexName,
  type IndexState,
  type IndexStates,
  indexedCharacters,
  type OnIndexProgress,
  type PlantIndexes,
} from "../plant-reader.ts";
import { citusVersion } from "./citus/distribution.ts";
import { begin, tokensSetting } from "./connection.ts";
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
  /** The relation that an index of an earlier version lacks. */
  readonly currentRelation?: string;
  readonly create: readonly string[];
  /** Makes an index of an earlier version a current one. */
  readonly upgrade?: readonly string[];
  readonly drop: readonly string[];
  /** Whether the statements run outside a transaction, as CONCURRENTLY requires. */
  readonly isConcurrent: boolean;
}

/** Sets the search path of a function to the schema of the store: the role of a caller may have another one. */
function fixedSearchPath(name: string): string {
  return `DO $$ BEGIN EXECUTE format('ALTER FUNCTION ${name}() SET search_path = %I, pg_temp', current_schema()); END $$`;
}

/**
 * The triggers of the index "newest". A statement trigger costs a batch one more insert, and not one for each plant. SECURITY
 * DEFINER: the role of a server needs no privileges on the table. The server sets the names of the tokens by id.
 */
const arrivalTriggers = [
  `CREATE FUNCTION plants_arrive() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
   DECLARE
     tokens jsonb := nullif(current_setting('${tokensSetting}', true), '')::jsonb;
   BEGIN
     INSERT INTO plant_arrivals (id, created_at, token)
     SELECT id, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, tokens ->> id::text FROM arrived;
     RETURN NULL;
   END $$`,
  fixedSearchPath("plants_arrive"),
  `CREATE TRIGGER plants_arrive AFTER INSERT ON plants REFERENCING NEW TABLE AS arrived
   FOR EACH STATEMENT EXECUTE FUNCTION plants_arrive()`,
  `CREATE FUNCTION plants_depart() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
   BEGIN DELETE FROM plant_arrivals WHERE id IN (SELECT id FROM departed); RETURN NULL; END $$`,
  fixedSearchPath("plants_depart"),
  `CREATE TRIGGER plants_depart AFTER DELETE ON plants REFERENCING OLD TABLE AS departed
   FOR EACH STATEMENT EXECUTE FUNCTION plants_depart()`,
];

const indexes: Readonly<Record<IndexName, Index>> = {
  newest: {
    relation: "plant_arrivals",
    currentRelation: "plant_arrivals_by_id",
    create: [
      `CREATE TABLE plant_arrivals (
         position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL, created_at bigint, token text
       )`,
      "CREATE INDEX plant_arrivals_by_id ON plant_arrivals (id)",
      ...arrivalTriggers,
      // Every role that can read plants can read their order.
      `DO $$ DECLARE reader text; BEGIN
         FOR reader IN
           SELECT DISTINCT coalesce(quote_ident(rolname), 'PUBLIC')
           FROM pg_class CROSS JOIN aclexplode(relacl) AS granted LEFT JOIN pg_roles ON pg_roles.oid = grantee
           WHERE pg_class.oid = 'plants'::regclass AND privilege_type = 'SELECT'
         LOOP EXECUTE 'GRANT SELECT ON plant_arrivals TO ' || reader; END LOOP;
       END $$`,
    ],
    // Of plants that were deleted, and created again, only the last entry is kept.
    upgrade: [
      "DROP TRIGGER plants_arrive ON plants",
      "DROP FUNCTION plants_arrive",
      "ALTER TABLE plant_arrivals ADD COLUMN created_at bigint, ADD COLUMN token text",
      "CREATE INDEX plant_arrivals_by_id ON plant_arrivals (id)",
      `DELETE FROM plant_arrivals AS entry
       WHERE NOT EXISTS (SELECT FROM plants WHERE plants.id = entry.id)
          OR EXISTS (SELECT FROM plant_arrivals AS later WHERE later.id = entry.id AND later.position > entry.position)`,
      ...arrivalTriggers,
    ],
    drop: [
      "DROP TRIGGER plants_arrive ON plants",
      "DROP FUNCTION plants_arrive",
      "DROP TRIGGER IF EXISTS plants_depart ON plants",
      "DROP FUNCTION IF EXISTS plants_depart",
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
  text: {
    relation: "plants_by_text",
    create: [
      // Trusted since PostgreSQL 13: the owner of the database may create it.
      "CREATE EXTENSION IF NOT EXISTS pg_trgm",
      "CREATE INDEX CONCURRENTLY plants_by_text ON plants USING gin (name gin_trgm_ops, tag gin_trgm_ops)",
    ],
    drop: ["DROP INDEX CONCURRENTLY plants_by_text"],
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

  async create(name: IndexName, onProgress?: OnIndexProgress): Promise<void> {
    const state = (await this.states())[name];
    assertUnchanging(name, state);
    if (state === "broken")
      throw new OperatorError(`the index ${name} is broken; drop it, and create it again`);
    if (name === "newest") await this.#primary.once(assertTriggers).catch(rejectForOperator);
    if (state === "none") await this.#withProgress(onProgress, this.#change(indexes[name], "create"));
    if (state === "outdated") await this.#change(indexes[name], "upgrade");
  }

  async drop(name: IndexName): Promise<void> {
    const state = (await this.states())[name];
    // A drop would wait until the other session has finished.
    assertUnchanging(name, state);
    if (state !== "none") await this.#change(indexes[name], "drop");
  }

  /** Reports the progress that PostgreSQL shows of a build, until the build has ended. */
  async #withProgress(onProgress: OnIndexProgress | undefined, building: Promise<void>): Promise<void> {
    if (onProgress === undefined) return building;
    const report = async () => {
      const { rows } = await this.#primary.once((pool) => pool.query<ProgressRow>(progressQuery));
      const [row] = rows;
      if (row === undefined) return;
      onProgress({ share: row.total > 0 ? row.done / row.total : undefined, phase: row.phase });
    };
    // A database that cannot be reached fails the build itself, which says so.
    const timer = setInterval(() => void report().catch(() => undefined), progressMs);
    try {
      await building;
    } finally {
      clearInterval(timer);
    }
  }

  async #change(index: Index, change: "create" | "upgrade" | "drop"): Promise<void> {
    const changing = this.#primary.onceOnConnection(async (connection) => {
      if (!index.isConcurrent) await begin(connection, "", { statementMs: indexMsMax, lockMs: lockMsMax });
      for (const sql of index[change] ?? []) await runLong(connection, sql);
      if (!index.isConcurrent) await connection.query("COMMIT");
    });
    await changing.catch(explainLock).catch(rejectForOperator);
  }
}

interface ProgressRow {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
}

const progressMs = 500;

const progressQuery = `SELECT phase, (CASE WHEN blocks_total > 0 THEN blocks_done ELSE tuples_done END)::float8 AS done,
    (CASE WHEN blocks_total > 0 THEN blocks_total ELSE tuples_total END)::float8 AS total
  FROM pg_stat_progress_create_index
  WHERE datname = current_database() AND relid = 'plants'::regclass`;

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
  const relations = Object.values(indexes).flatMap(({ relation, currentRelation = [] }) => [
    relation,
    ...[currentRelation].flat(),
  ]);
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
    if (!found.is_valid) return changing.get(found.relation) ?? "broken";
    const { currentRelation } = indexes[name];
    const isCurrent =
      currentRelation === undefined || rows.some(({ relation }) => relation === currentRelation);
    return isCurrent ? "ready" : "outdated";
  };
  return { newest: state("newest"), name: state("name"), tag: state("tag"), text: state("text") };
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
