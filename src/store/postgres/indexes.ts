// The optional indexes: made and dropped while servers run, and no part of the schema's version.

import { OperatorError } from "../../operator-error.ts";
import {
  type IndexName,
  type IndexState,
  type IndexStates,
  indexedCharacters,
  type PlantIndexes,
} from "../plant-reader.ts";
import { DatabaseError, type Pool, type PoolClient } from "./driver.ts";
import { rejectForOperator } from "./failures.ts";
import type { Primary } from "./primary.ts";

/** An index of a large store takes its time, and nobody waits for it but who asked for it. */
const indexMsMax = 6 * 3_600_000;

/** A lock that is waited for stands before every later create: shorter than any statement of a batch may take. */
const lockMsMax = 500;

const lockNotAvailable = "55P03";

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
    return this.#primary.runOnce(indexStates).catch(rejectForOperator);
  }

  async create(name: IndexName): Promise<void> {
    const state = (await this.states())[name];
    if (state === "broken")
      throw new OperatorError(
        `the index ${name} is broken, or is being made by somebody else; drop it to make it again`,
      );
    if (state === "none") await this.#change(indexes[name], "create");
  }

  async drop(name: IndexName): Promise<void> {
    if ((await this.states())[name] !== "none") await this.#change(indexes[name], "drop");
  }

  async #change(index: Index, change: "create" | "drop"): Promise<void> {
    const changing = this.#primary.runOnceOnConnection(async (connection) => {
      if (!index.isConcurrent) await connection.query(`BEGIN; SET LOCAL lock_timeout = ${lockMsMax}`);
      for (const sql of index[change]) await runLong(connection, sql);
      if (!index.isConcurrent) await connection.query("COMMIT");
    });
    await changing.catch(explainLock).catch(rejectForOperator);
  }
}

function explainLock(error: unknown): never {
  if (!(error instanceof DatabaseError && error.code === lockNotAvailable)) throw error;
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
  const stateOf = (name: IndexName): IndexState => {
    const found = rows.find(({ relation }) => relation === indexes[name].relation);
    if (found === undefined) return "none";
    return found.is_valid ? "ready" : "broken";
  };
  return { newest: stateOf("newest"), name: stateOf("name"), tag: stateOf("tag") };
}
