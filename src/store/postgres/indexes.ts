// The optional indexes: made and dropped while servers run, and no part of the schema's version.

import { OperatorError } from "../../operator-error.ts";
import {
  type IndexName,
  type IndexState,
  type IndexStates,
  indexedCharacters,
  type PlantIndexes,
} from "../plant-reader.ts";
import { begin } from "./connection.ts";
import type { Pool, PoolClient } from "./driver.ts";
import { isLockTimeout, rejectForOperator } from "./error-classes.ts";
import type { Primary } from "./primary.ts";

/** An index of a large store takes its time, and nobody waits for it but who asked for it. */
const indexMsMax = 6 * 3_600_000;

/** A lock that is waited for stands before every later create: shorter than any statement of a batch may take. */
const lockMsMax = 500;

interface Index {
  /** The relation whose presence tells that the index is there. */
  readonly relation: string;
  readonly create: readonly string[];
  readonly drop: readonly string[];
  /** Statements that cannot be in a transaction, as they let plants be created meanwhile. */
  readonly isConcurrent: boolean;
}

const indexes: Readonly<Record<IndexName, Index>> = {
  newest: {
    relation: "plant_arrivals",
    // By statement, which costs a batch one more insert and not one for each plant. SECURITY DEFINER: the role of a
    // server need have no rights on the table.
    create: [
      "CREATE TABLE plant_arrivals (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint NOT NULL)",
      `CREATE FUNCTION plants_arrive() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
       BEGIN INSERT INTO plant_arrivals (id) SELECT id FROM arrived; RETURN NULL; END $$`,
      "DO $$ BEGIN EXECUTE format('ALTER FUNCTION plants_arrive() SET search_path = %I, pg_temp', current_schema()); END $$",
      `CREATE TRIGGER plants_arrive AFTER INSERT ON plants REFERENCING NEW TABLE AS arrived
       FOR EACH STATEMENT EXECUTE FUNCTION plants_arrive()`,
      // Whoever may read plants may read in which order they came.
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
    if (state === "none") await this.#change(indexes[name], "create");
  }

  async drop(name: IndexName): Promise<void> {
    const state = (await this.states())[name];
    // To drop it would wait for the other session, for as long as that takes.
    assertUnchanging(name, state);
    if (state !== "none") await this.#change(indexes[name], "drop");
  }

  async #change(index: Index, change: "create" | "drop"): Promise<void> {
    const changing = this.#primary.runOnceOnConnection(async (connection) => {
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

function explainLock(error: unknown): never {
  if (!isLockTimeout(error)) throw error;
  throw new OperatorError(
    "another transaction holds the table of plants, that of a backup perhaps; try again when it is over",
  );
}

async function runLong(connection: PoolClient, text: string): Promise<void> {
  const statement = { text, query_timeout: indexMsMax };
  await connection.query(statement);
}

export async function indexStates(pool: Pool): Promise<IndexStates> {
  const relations = Object.values(indexes).map(({ relation }) => relation);
  const { rows } = await pool.query<{ relation: string; is_valid: boolean }>(
    `SELECT relname AS relation, coalesce(indisvalid, true) AS is_valid
     FROM pg_class LEFT JOIN pg_index ON indexrelid = pg_class.oid
     WHERE relname = ANY ($1::text[]) AND pg_table_is_visible(pg_class.oid)`,
    [relations],
  );
  const changing = rows.every(({ is_valid }) => is_valid) ? new Map() : await changingIndexes(pool);
  const stateOf = (name: IndexName): IndexState => {
    const found = rows.find(({ relation }) => relation === indexes[name].relation);
    if (found === undefined) return "none";
    return found.is_valid ? "ready" : (changing.get(found.relation) ?? "broken");
  };
  return { newest: stateOf("newest"), name: stateOf("name"), tag: stateOf("tag") };
}

/**
 * The indexes that are being built or dropped. Whoever drops one concurrently has it locked; whoever builds one is seen by
 * its progress, of which a role without pg_read_all_stats learns no more than the process, and so by the process's lock
 * on the table.
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
