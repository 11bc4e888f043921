// Commits a batch by INSERT or COPY, and reads the plants that it conflicted with.

import { type FieldName, fieldNames, fieldValue, type PlantColumns, typeOf } from "../../contract/fields.ts";
import { type NewPlant, toColumns, toNewPlant } from "../../contract/plant.ts";
import { compareWithStored, type NewEntry, type Outcome } from "../plant-store.ts";
import { toInt4Array, toInt8Array, toTextArray } from "./binary-array.ts";
import { toCopyText } from "./copy-format.ts";
import { DatabaseError, type QueryConfig } from "./driver.ts";
import { classifyError } from "./errors.ts";
import type { HostPool } from "./host-pool.ts";

interface PlantRow extends PlantColumns {
  /** The client returns int8 as decimal digits. */
  readonly id: string;
}

const columnList = ["id", ...fieldNames].join(", ");

/** PostgreSQL's type of each column of a field. */
const fieldTypes = fieldNames.map((field) => typeOf(field).column.postgres);

/** The columns that an INSERT writes. The first has one value for all rows of a batch. */
const insertedColumns = ["created_at", "id", "creator", ...fieldNames];
const perRow = insertedColumns.length - 1;

/**
 * After a COPY that failed, so that all its rows were written in vain, batches are inserted by
 * INSERT for this long.
 */
const copyPauseMs = 1_000;

/**
 * How long a COPY waits for a lock: the row that holds it up is probably about to be stored. On
 * Citus COPY writes the shards in another order than INSERT, so that two batches with the same ids
 * would deadlock, and wait a second for PostgreSQL to find that.
 */
const copyLockMsMax = 50;

/** Rows of one INSERT: the protocol counts the parameters, one a column and row, in 16 bits. */
const insertRowsMax = Math.floor(60_000 / perRow);

/** How often a plant of a batch is inserted that is neither created nor found. */
const insertAttemptsMax = 5;

/** How long a batch waits for a row that another transaction has changed. */
export const batchLockMsMax = 1_000;

/**
 * Commits a batch. Safe to repeat. Rejects with PostgreSQL's error, see classifyError.
 *
 * @param lockMs how long each of its statements may wait for a lock.
 * @param attempts how often a plant is inserted that is neither created nor found: another
 * transaction has deleted it in between, or a trigger skips it each time. Then it is `unavailable`,
 * and the others of the batch are not.
 */
export async function commitBatch(
  pool: HostPool,
  batch: readonly NewEntry[],
  lockMs: number,
  attempts = insertAttemptsMax,
): Promise<Outcome[]> {
  // Two batches that lock their rows in the same order cannot deadlock.
  const rows = isAscending(batch) ? batch : withoutDuplicates(batch.toSorted(byId));
  // COPY reports no conflicts: INSERT then decides row by row.
  const isCopied = mayCopy(pool, rows.length) && (await copy(pool, rows, lockMs));
  const inserted = isCopied ? rows.map(({ plant }) => plant.id) : await insert(pool, rows, lockMs);
  // Avoids sets and maps of bigints, which cost as much as the COPY.
  if (inserted.length === batch.length) return batch.map(() => "created");
  const createdIds = new Set(inserted.map(BigInt));
  const others = rows.filter(({ plant }) => !createdIds.has(plant.id));
  const stored = others.length === 0 ? new Map<bigint, NewPlant>() : await selectDurable(pool, others);
  const rowById = new Map(rows.map(({ plant }) => [plant.id, plant]));
  // Undefined for a plant that was neither created nor found.
  const outcomes = batch.map(({ plant }): Outcome | undefined => {
    const isCreated = createdIds.has(plant.id);
    const row = rowById.get(plant.id);
    if (isCreated && row === plant) return "created";
    const found = isCreated ? row : stored.get(plant.id);
    return found && compareWithStored(found, plant);
  });
  const missing = batch.filter((_, index) => outcomes[index] === undefined);
  const retried =
    missing.length === 0 || attempts === 1 ? [] : await commitBatch(pool, missing, lockMs, attempts - 1);
  let next = 0;
  return outcomes.map((outcome) => outcome ?? retried[next++] ?? "unavailable");
}

function isAscending(batch: readonly NewEntry[]): boolean {
  return batch.every(({ plant }, index) => index === 0 || plant.id > (batch[index - 1] as NewEntry).plant.id);
}

function byId({ plant: one }: NewEntry, { plant: other }: NewEntry): number {
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}

/** Keeps the first of the plants with one id: the sort is stable. */
function withoutDuplicates(sorted: readonly NewEntry[]): NewEntry[] {
  return sorted.filter(({ plant }, index) => plant.id !== sorted[index - 1]?.plant.id);
}

function mayCopy({ traits, copyFailedAt }: HostPool, rows: number): boolean {
  return rows >= traits.copyRowsMin && performance.now() - copyFailedAt >= copyPauseMs;
}

/**
 * Inserts rows by COPY; false if the database reports any error, such as a single id that is stored
 * or locked, a trigger, or a shard that is being split.
 */
async function copy(pool: HostPool, rows: readonly NewEntry[], lockMs: number): Promise<boolean> {
  const sql = `COPY plants (${columnList}, created_at, creator) FROM STDIN`;
  const text = Buffer.from(toCopyText(rows, Date.now()));
  try {
    const stored = await pool.copy(sql, text, { lockMs: Math.min(lockMs, copyLockMsMax) });
    // Fewer if a trigger was created after the check for triggers: then INSERT decides row by row.
    if (stored === rows.length) return true;
  } catch (error) {
    if (!(error instanceof DatabaseError) || classifyError(error) === "connectionLost") throw error;
  }
  pool.copyFailedAt = performance.now();
  return false;
}

/**
 * Inserts rows by INSERT, and returns the ids that were created: one round trip if every plant is
 * new. A select afterwards sees every row that the insert conflicted with: under READ COMMITTED as
 * a later statement, under SERIALIZABLE because the insert fails with 40001 on a row that it cannot
 * see, and is retried.
 */
async function insert(pool: HostPool, rows: readonly NewEntry[], lockMs: number): Promise<string[]> {
  const created: string[] = [];
  for (let start = 0; start < rows.length; start += insertRowsMax) {
    const part = insertStatement(pool, rows.slice(start, start + insertRowsMax));
    const statement = { ...part, rowMode: "array", lockMs } as const;
    const { rows: ids } = await pool.query<[string]>(statement);
    for (const [id] of ids) created.push(id);
  }
  return created;
}

/**
 * Only unnest is prepared by name: a list of VALUES is another statement for each size. Without a
 * name, PgBouncer can send each batch over another connection. The statements that read are never
 * named: their plan would be kept from when the table was small.
 */
function insertStatement(pool: HostPool, rows: readonly NewEntry[]): QueryConfig {
  const into = `INSERT INTO plants (${insertedColumns.join(", ")})`;
  const conflict = "ON CONFLICT (id) DO NOTHING RETURNING id";
  const createdAt = Date.now();
  if (pool.traits.insertMethod === "values") {
    const tuples = rows.map((_, row) => {
      const first = perRow * row + 2;
      const values = fieldTypes.map((type, field) => `$${first + 2 + field}::${type}`);
      return `($1::int8,$${first}::int8,$${first + 1}::int4,${values.join(",")})`;
    });
    const values = rows.flatMap(({ plant, creator }) => [String(plant.id), creator, ...toColumns(plant)]);
    return { text: `${into} VALUES ${tuples.join(",")} ${conflict}`, values: [createdAt, ...values] };
  }
  const arrays = ["$2::int8[]", "$3::int4[]", ...fieldTypes.map(arrayParameter)];
  return {
    ...(pool.traits.namesStatements ? { name: "plantstore_insert" } : {}),
    text: `${into} SELECT $1::int8, * FROM unnest(${arrays.join(", ")}) ${conflict}`,
    values: [
      createdAt,
      toInt8Array(rows.map(({ plant }) => plant.id)),
      toInt4Array(rows.map(({ creator }) => creator)),
      ...fieldNames.map((field) => toTextArray(rows.map(({ plant }) => toText(plant, field)))),
    ],
  };
}

/** The parameter of a field for the rows of a batch: an array of texts, whatever its type. */
function arrayParameter(type: string, field: number): string {
  return `$${field + 4}::text[]${type === "text" ? "" : `::${type}[]`}`;
}

function toText(plant: NewPlant, field: FieldName): string | undefined {
  const value = fieldValue(plant, field);
  return value === undefined ? undefined : typeOf(field).format(value);
}

/**
 * Writes a message to the write-ahead log for each row that is read, on Citus on the node that has
 * it; nothing reads them. So the commit of the read waits for the disk and the standby, and for all
 * that was committed before: the wait of the row's own commit may have been cut short, or off.
 */
const messageSql = "pg_logical_emit_message(true, 'plantstore', '')";

/** Reads the stored plants with the ids of some plants, once they are as durable as a commit. */
export function selectDurable(pool: HostPool, rows: readonly NewEntry[]): Promise<Map<bigint, NewPlant>> {
  const columns = pool.traits.isPostgres ? `${columnList}, ${messageSql}` : columnList;
  return select(
    pool,
    rows.map(({ plant }) => plant.id),
    columns,
  );
}

export async function select(
  pool: HostPool,
  ids: readonly bigint[],
  columns = columnList,
): Promise<Map<bigint, NewPlant>> {
  const sql = `SELECT ${columns} FROM plants WHERE id = ANY ($1::int8[])`;
  const { rows } = await pool.query<PlantRow>(sql, [ids.map(String)]);
  return new Map(rows.map((row) => [BigInt(row.id), toNewPlant(BigInt(row.id), row)]));
}
