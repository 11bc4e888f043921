// The one optional index, by which a search finds any part of the text fields of plants: an FTS5
// table of trigrams on SQLite, a GIN index of pg_trgm on PostgreSQL. It is built while plants are
// created, and slows creates from then on.

import { textFields } from "../core/contract/fields.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { SqlConnection, SqlStatement } from "../core/store/sql-connection.ts";

/**
 * `broken`: a build was interrupted; searches do not use it. Building it again continues on SQLite,
 * and starts over on PostgreSQL.
 */
export type SearchIndexState = "none" | "building" | "ready" | "broken";

/** From 0 to 1; undefined where the database does not tell. */
export type OnProgress = (share: number | undefined) => void;

interface Engine {
  state(sql: SqlConnection): Promise<SearchIndexState>;
  /** Builds the index, unless another process has begun to build it since its state was read. */
  build(
    from: "none" | "broken",
    write: SqlConnection,
    read: SqlConnection,
    onProgress: OnProgress,
  ): Promise<void>;
  drop(write: SqlConnection): Promise<void>;
}

export function searchIndexState(sql: SqlConnection): Promise<SearchIndexState> {
  return engines[sql.dialect].state(sql);
}

/** Does nothing if it is built, and waits while another process builds it. */
export async function buildSearchIndex(
  write: SqlConnection,
  read: SqlConnection,
  onProgress: OnProgress,
): Promise<void> {
  for (;;) {
    const state = await searchIndexState(read);
    if (state === "ready") return;
    if (state === "building") await Bun.sleep(waitMs);
    else
      await engines[write.dialect].build(state, write, read, onProgress).catch(async (error) => {
        // Another process may have taken this one for ended, and finished its build.
        if ((await searchIndexState(read)) !== "ready") throw error;
      });
  }
}

/** Does nothing if there is none. */
export async function dropSearchIndex(write: SqlConnection, read: SqlConnection): Promise<void> {
  const state = await searchIndexState(read);
  if (state === "building")
    throw new OperatorError("the search index is being built or dropped by another process");
  if (state !== "none") await engines[write.dialect].drop(write);
}

/**
 * A build writes its progress several times a second; without any for this long its process has
 * ended.
 */
const silentMsMax = 10_000;

/** How often the state is read while another process builds. */
const waitMs = 200;

/** How long one step of a build should take: creates wait for it. */
const stepMs = 20;
const stepPlantsFirst = 200;
const stepPlantsMax = 20_000;

const columns = textFields.join(", ");

const epochMs = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/** The triggers; while the index is built they apply to plants up to the last one that is in it. */
function triggers(isBuilding: boolean): SqlStatement[] {
  const built = (row: "new" | "old") =>
    isBuilding ? `WHEN ${row}.id <= (SELECT up_to FROM plants_text_progress)` : "";
  const columnsOf = (row: "new" | "old") =>
    ["id", ...textFields].map((field) => `${row}.${field}`).join(", ");
  const add = `INSERT INTO plants_text (rowid, ${columns}) VALUES (${columnsOf("new")});`;
  const remove = `INSERT INTO plants_text (plants_text, rowid, ${columns}) VALUES ('delete', ${columnsOf("old")});`;
  return [
    { sql: `CREATE TRIGGER plants_text_insert AFTER INSERT ON plants ${built("new")} BEGIN ${add} END` },
    { sql: `CREATE TRIGGER plants_text_delete AFTER DELETE ON plants ${built("old")} BEGIN ${remove} END` },
    {
      sql: `CREATE TRIGGER plants_text_update AFTER UPDATE ON plants ${built("old")} BEGIN ${remove} ${add} END`,
    },
  ];
}

const dropTriggers: readonly SqlStatement[] = ["insert", "delete", "update"].map((change) => ({
  sql: `DROP TRIGGER IF EXISTS plants_text_${change}`,
}));

const fill = `INSERT INTO plants_text (rowid, ${columns}) SELECT id, ${columns} FROM plants`;

/** The condition that a plant comes after the last one that is in the index. */
const isLeft = "id > coalesce((SELECT up_to FROM plants_text_progress), -1e19)";

const startBuild: readonly SqlStatement[] = [
  // The table has no texts of its own: it reads them from the plants. Its rowids may be any int64,
  // as ids are.
  {
    sql: `CREATE VIRTUAL TABLE plants_text
          USING fts5(${columns}, content = 'plants', content_rowid = 'id', tokenize = 'trigram')`,
  },
  { sql: "CREATE TABLE plants_text_progress (up_to INTEGER, changed_at INTEGER NOT NULL) STRICT" },
  ...triggers(true),
  { sql: `INSERT INTO plants_text_progress VALUES (NULL, ${epochMs}) RETURNING up_to` },
];

/** Only one of several processes continues an interrupted build. */
const continueBuild: readonly SqlStatement[] = [
  {
    sql: `UPDATE plants_text_progress SET changed_at = ${epochMs}
          WHERE ${epochMs} - changed_at >= ${silentMsMax} RETURNING up_to`,
  },
];

const sqlite: Engine = {
  async state(sql) {
    const tables = () =>
      sql.query("SELECT 1 FROM sqlite_schema WHERE name IN ('plants_text', 'plants_text_progress')");
    const { length } = await tables();
    if (length < 2) return length === 0 ? "none" : "ready";
    try {
      const [progress] = await sql.query<{ age: bigint }>(
        `SELECT ${epochMs} - changed_at AS age FROM plants_text_progress`,
      );
      return progress !== undefined && progress.age < silentMsMax ? "building" : "broken";
    } catch (error) {
      // Another process may have ended the build since.
      if ((await tables()).length === 2) throw error;
      return sqlite.state(sql);
    }
  },

  async build(from, write, read, onProgress) {
    const begin = async () => {
      // Before the build has begun: it would look interrupted while the plants of a large store are
      // counted.
      const done = from === "none" ? "NULL" : "(SELECT up_to FROM plants_text_progress)";
      const [count] = await read.query<{ plants: bigint; done: bigint }>(
        `SELECT count(*) AS plants, count(CASE WHEN id <= ${done} THEN 1 END) AS done FROM plants`,
        [],
        60_000,
      );
      const claimed = from === "none" ? startBuild : continueBuild;
      const [progress] = await write.transaction<{ up_to: bigint | null }>(claimed);
      return { count, progress };
    };
    const { count, progress } = await begin().catch(async (error) => {
      if ((await sqlite.state(read)) === from) throw error;
      return { count: undefined, progress: undefined };
    });
    // Another process was faster.
    if (progress === undefined) return;
    let done = Number(count?.done ?? 0);
    let plants = stepPlantsFirst;
    for (;;) {
      const [step] = await read.query<{ last: bigint | null; plants: bigint }>(
        `SELECT max(id) AS last, count(*) AS plants
         FROM (SELECT id FROM plants WHERE ${isLeft} ORDER BY id LIMIT $1)`,
        [plants],
      );
      const last = step?.last ?? null;
      if (step === undefined || last === null) break;
      const startedAt = performance.now();
      await write.transaction([
        { sql: `${fill} WHERE ${isLeft} AND id <= $1`, parameters: [last] },
        // Never back: another process continues a build that was frozen for as long as an ended one.
        {
          sql: `UPDATE plants_text_progress SET up_to = max(coalesce(up_to, $1), $1), changed_at = ${epochMs}`,
          parameters: [last],
        },
      ]);
      const ms = Math.max(performance.now() - startedAt, stepMs / 4);
      plants = Math.min(stepPlantsMax, Math.max(stepPlantsFirst, Math.ceil((plants * stepMs) / ms)));
      done += Number(step.plants);
      onProgress(Math.min(1, done / Math.max(1, Number(count?.plants ?? 0))));
    }
    await write.transaction([
      // Plants that were created since the last step.
      { sql: `${fill} WHERE ${isLeft}` },
      ...dropTriggers,
      ...triggers(false),
      { sql: "DROP TABLE plants_text_progress" },
    ]);
  },

  async drop(write) {
    await write.transaction(
      [
        ...dropTriggers,
        { sql: "DROP TABLE IF EXISTS plants_text" },
        { sql: "DROP TABLE IF EXISTS plants_text_progress" },
      ],
      60_000,
    );
  },
};

const buildMsMax = 6 * 3_600_000;
const progressMs = 500;

/**
 * A session that drops an index concurrently holds a lock on it. One that builds it has a row in
 * pg_stat_progress_create_index, of which a role without pg_read_all_stats sees only the process
 * id; then it is found by its lock on the table.
 */
const postgresState = `
  SELECT CASE WHEN indisvalid THEN 1 ELSE 0 END AS is_valid, CASE WHEN EXISTS (
    SELECT FROM pg_locks
    WHERE relation = indexrelid AND granted AND mode = 'ShareUpdateExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ) OR EXISTS (
    SELECT FROM pg_stat_progress_create_index AS progress
    WHERE datname = current_database() AND (index_relid = indexrelid OR index_relid IS NULL AND EXISTS (
      SELECT FROM pg_locks
      WHERE pg_locks.pid = progress.pid AND relation = indrelid AND granted AND mode = 'ShareUpdateExclusiveLock'
    ))
  ) THEN 1 ELSE 0 END AS is_changing
  FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relname = 'plants_by_text' AND pg_table_is_visible(pg_class.oid)`;

const postgresProgress = `
  SELECT CASE WHEN blocks_total > 0 THEN blocks_done * 100 / blocks_total
              WHEN tuples_total > 0 THEN tuples_done * 100 / tuples_total END AS percent
  FROM pg_stat_progress_create_index
  WHERE datname = current_database() AND relid = 'plants'::regclass`;

const postgres: Engine = {
  async state(sql) {
    const [index] = await sql.query<{ is_valid: bigint; is_changing: bigint }>(postgresState);
    if (index === undefined) return "none";
    if (index.is_valid === 1n) return "ready";
    return index.is_changing === 1n ? "building" : "broken";
  },

  async build(from, write, read, onProgress) {
    if (from === "broken") await postgres.drop(write);
    // Trusted since PostgreSQL 13: the owner of the database may create it.
    await write.query("CREATE EXTENSION IF NOT EXISTS pg_trgm");
    const report = async () => {
      const [row] = await read.query<{ percent: bigint | null }>(postgresProgress);
      if (row !== undefined) onProgress(row.percent === null ? undefined : Number(row.percent) / 100);
    };
    // A database that cannot be reached fails the build itself, which says so.
    const timer = setInterval(() => void report().catch(() => undefined), progressMs);
    try {
      const indexed = textFields.map((field) => `${field} gin_trgm_ops`).join(", ");
      const create = `CREATE INDEX CONCURRENTLY IF NOT EXISTS plants_by_text ON plants USING gin (${indexed})`;
      await write.query(create, [], buildMsMax);
    } finally {
      clearInterval(timer);
    }
  },

  async drop(write) {
    await write.query("DROP INDEX CONCURRENTLY IF EXISTS plants_by_text", [], buildMsMax);
  },
};

const engines: Readonly<Record<SqlConnection["dialect"], Engine>> = { sqlite, postgres };
