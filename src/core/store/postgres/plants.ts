// The plants table: commits batches, reads single plants, exports and counts. The statements are
// those that PostgreSQL, Citus, CockroachDB and YugabyteDB have in common.

import {
  type FieldType,
  type FieldValue,
  fieldNames,
  type PlantColumns,
  typeOf,
} from "../../contract/fields.ts";
import { type NewPlant, toColumns, toNewPlant } from "../../contract/plant.ts";
import {
  compareWithStored,
  type ExportFilter,
  type NewEntry,
  type OnUnavailable,
  type Outcome,
  type StoredPlant,
} from "../plant-store.ts";
import { toInt4Array, toInt8Array, toTextArray } from "./binary-array.ts";
import { begin, commit, type HostPool, socketOf, timerMsMax, withLockLimit } from "./connection.ts";
import { fromCopyText, fromCopyTextWithCreations, toCopyText } from "./copy-format.ts";
import {
  copyFrom,
  copyTo,
  DatabaseError,
  escapeLiteral,
  type PoolClient,
  type QueryConfig,
} from "./driver.ts";
import { classifyError, errorReason, isLockTimeout, rejectForOperator } from "./errors.ts";
import type { Commits, Primary } from "./primary.ts";

interface PlantRow extends PlantColumns {
  /** The client returns int8 as decimal digits. */
  readonly id: string;
}

/** The columns of a plant, in the order in which they are read. */
const columns = ["id", ...fieldNames];
const columnList = columns.join(", ");

/** PostgreSQL's type of each column of a field. */
const columnTypes = { text: "text", integer: "int4", boolean: "bool" } as const satisfies Record<
  FieldType,
  string
>;
const fieldTypes = fieldNames.map((field) => columnTypes[typeOf(field)]);

/** The columns that an INSERT writes. The first has one value for all rows of a batch. */
const insertedColumns = ["created_at", "id", "creator", ...fieldNames];
const perRow = insertedColumns.length - 1;

/** The result of inserting rows: the created ids, and the plants that were stored before. */
interface InsertResult {
  readonly createdIds: ReadonlySet<bigint>;
  readonly stored: ReadonlyMap<bigint, NewPlant>;
}

/** From this many rows on COPY is used: 500,000 rows a second, and 100,000 by INSERT. */
const copyRowsMin = 2_000;

/** Rows of one INSERT: the protocol counts the parameters, one a column and row, in 16 bits. */
const insertRowsMax = Math.floor(60_000 / perRow);

const uniqueViolation = "23505";

/** How often a plant of a batch is inserted that is neither created nor found. */
const insertAttemptsMax = 5;

/** How long a batch waits for a row that another transaction has changed. */
const batchLockMsMax = 1_000;

/** How long a part of a divided batch waits for such a row. */
const partLockMsMax = 100;

/** How long a batch is divided; plants that are not committed by then are unavailable. */
const divideMsMax = 3_000;

/** How long a plant whose row was locked is committed separately from its batch. */
const lockedMsMax = 30_000;
const lockedIdsMax = 1_000;

/** The time limit of an export or count, which depend on their reader and the table's size. */
const exportMsMax = timerMsMax;

/** How long an export or count waits for a lock on the table. */
const exportLockMsMax = 5_000;

export class PostgresPlants {
  readonly #primary: Commits;
  readonly #onUnavailable: OnUnavailable;
  readonly #locked = new LockedIds();

  constructor(primary: Commits, onUnavailable: OnUnavailable) {
    this.#primary = primary;
    this.#onUnavailable = onUnavailable;
  }

  /** Commits a batch, or else each plant by itself. See PlantStore.create. */
  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    try {
      return await this.#primary.withRetry((pool) => this.#commit(pool, batch));
    } catch (error) {
      const failure = classifyError(error);
      if (failure === "internalError") throw error;
      this.#onUnavailable(errorReason(error));
      if (failure === "connectionLost" || failure === "retryable") return batch.map(() => "unavailable");
      return this.#commitEach(batch, failure === "rowError" && batch.length > 1);
    }
  }

  /** Commits what a create writes, and leaves no plant; rejects with the reason if it cannot. */
  probe(): Promise<void> {
    return this.#primary.once((pool) => probe(pool));
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    const selecting = this.#primary.withRetry((pool) => select(pool, [id]));
    const { plants } = await selecting.catch(rejectForOperator);
    return plants.get(id);
  }

  async #commit(pool: HostPool, batch: readonly NewEntry[]): Promise<Outcome[]> {
    const outcomes = await commitSkippingLocked(pool, batch, this.#locked);
    if (outcomes.includes("unavailable"))
      this.#onUnavailable("other transactions hold or delete some of its plants, or a trigger skips them");
    return outcomes;
  }

  /** Commits each plant of a batch by itself; replays and conflicts need no write. */
  async #commitEach(batch: readonly NewEntry[], mayWrite: boolean): Promise<Outcome[]> {
    try {
      const stored = await this.#primary.once((pool) => selectDurable(pool, batch));
      const outcomes: Outcome[] = [];
      for (const entry of batch) {
        const found = stored.get(entry.plant.id);
        if (found !== undefined) outcomes.push(compareWithStored(found, entry.plant));
        else outcomes.push(mayWrite ? await this.#commitSingly(entry) : "unavailable");
      }
      return outcomes;
    } catch (error) {
      if (classifyError(error) === "internalError") throw error;
      this.#onUnavailable(errorReason(error));
      return batch.map(() => "unavailable");
    }
  }

  async #commitSingly(entry: NewEntry): Promise<Outcome> {
    try {
      const [outcome = "unavailable"] = await this.#primary.once((pool) => this.#commit(pool, [entry]));
      return outcome;
    } catch (error) {
      if (classifyError(error) !== "rowError") throw error;
      this.#onUnavailable(errorReason(error));
      return "unavailable";
    }
  }
}

/**
 * Inserts a plant in a transaction that takes it back and commits. The commit waits for the disk,
 * and for a standby, as the plant was written; a role that may only insert plants can do so.
 */
async function probe(pool: HostPool): Promise<void> {
  const id = crypto.getRandomValues(new BigInt64Array(1))[0];
  const connection = await pool.connect();
  try {
    await begin(connection);
    await connection.query(
      `SAVEPOINT probe; INSERT INTO plants (id, name) VALUES (${id}, '') ON CONFLICT (id) DO NOTHING; ROLLBACK TO SAVEPOINT probe`,
    );
    await commit(connection);
    connection.release();
  } catch (error) {
    connection.release(true);
    throw error;
  }
}

/** The ids whose rows were locked by other transactions in the last 30 seconds. */
class LockedIds {
  readonly #until = new Map<bigint, number>();

  /** Whether the row of an id was locked recently. */
  has(id: bigint): boolean {
    const until = this.#until.get(id);
    if (until === undefined) return false;
    if (performance.now() < until) return true;
    this.#until.delete(id);
    return false;
  }

  add(id: bigint): void {
    this.#until.delete(id);
    this.#until.set(id, performance.now() + lockedMsMax);
    const [oldest] = this.#until.keys();
    if (this.#until.size > lockedIdsMax && oldest !== undefined) this.#until.delete(oldest);
  }

  get isEmpty(): boolean {
    return this.#until.size === 0;
  }
}

/**
 * Commits a batch while other transactions hold locks on some of its rows: only those plants are
 * `unavailable`, and the others do not wait for them. Safe to repeat. Rejects as commitBatch does,
 * also while the whole table is locked.
 */
async function commitSkippingLocked(
  pool: HostPool,
  batch: readonly NewEntry[],
  locked: LockedIds,
): Promise<Outcome[]> {
  const bisection: LockBisection = { pool, locked, deadline: performance.now() + divideMsMax };
  const isSeparate = batch.map(({ plant: { id } }) => !locked.isEmpty && locked.has(id));
  const together = batch.filter((_, index) => !isSeparate[index]);
  const outcomes = together.length === 0 ? [] : await commitOrDivide(bisection, together);
  if (together.length === batch.length) return outcomes;
  const separate = await commitParts(
    bisection,
    batch.filter((_, index) => isSeparate[index]).map((entry) => [entry]),
  );
  let [nextTogether, nextSeparate] = [0, 0];
  return isSeparate.map(
    (isOne) => (isOne ? separate[nextSeparate++] : outcomes[nextTogether++]) ?? "unavailable",
  );
}

/** A batch that is committed in parts, until a deadline. */
interface LockBisection {
  readonly pool: HostPool;
  readonly locked: LockedIds;
  readonly deadline: number;
}

async function commitOrDivide(bisection: LockBisection, batch: readonly NewEntry[]): Promise<Outcome[]> {
  const { pool } = bisection;
  const outcomes = await commitUnlessLocked(pool, batch, batchLockMsMax);
  if (outcomes !== undefined) return outcomes;
  // A lock on the whole table blocks every part; this statement then fails as the batch did.
  const probe = { text: "INSERT INTO plants (id, name) SELECT 0, '' WHERE false" };
  await pool.query(withLockLimit(probe, partLockMsMax));
  return commitParts(bisection, halve(batch));
}

/** Commits the parts of a batch in order, and halves those that wait for a lock. */
async function commitParts(
  bisection: LockBisection,
  parts: readonly (readonly NewEntry[])[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const part of parts) {
    if (performance.now() > bisection.deadline) outcomes.push(...part.map(() => "unavailable" as const));
    else outcomes.push(...(await commitPart(bisection, part)));
  }
  return outcomes;
}

async function commitPart(bisection: LockBisection, part: readonly NewEntry[]): Promise<Outcome[]> {
  const outcomes = await commitUnlessLocked(bisection.pool, part, partLockMsMax);
  if (outcomes !== undefined) return outcomes;
  const [entry] = part;
  if (part.length > 1 || entry === undefined) return commitParts(bisection, halve(part));
  bisection.locked.add(entry.plant.id);
  return ["unavailable"];
}

/** Commits a batch; resolves with undefined if it waited for a lock longer than its limit. */
async function commitUnlessLocked(
  pool: HostPool,
  batch: readonly NewEntry[],
  lockMsMax: number,
): Promise<Outcome[] | undefined> {
  try {
    return await commitBatch(pool, batch, lockMsMax);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return undefined;
  }
}

function halve(batch: readonly NewEntry[]): (readonly NewEntry[])[] {
  if (batch.length < 2) return [batch];
  const middle = batch.length >> 1;
  return [batch.slice(0, middle), batch.slice(middle)];
}

/**
 * Commits a batch. Safe to repeat. Rejects with PostgreSQL's error, see classifyError.
 *
 * @param lockMs how long each of its statements may wait for a lock.
 * @param attempts how often a plant is inserted that is neither created nor found: another
 * transaction has deleted it in between, or a trigger skips it each time. Then it is `unavailable`,
 * and the others of the batch are not.
 */
async function commitBatch(
  pool: HostPool,
  batch: readonly NewEntry[],
  lockMs: number,
  attempts = insertAttemptsMax,
): Promise<Outcome[]> {
  // Two batches that lock their rows in the same order cannot deadlock.
  const rows = isAscending(batch) ? batch : withoutDuplicates(batch.toSorted(byId));
  const result = await (rows.length < copyRowsMin ? insertAll : copyAll)(pool, rows, lockMs);
  // A shortcut without sets and maps of bigints, which cost as much as the COPY.
  if (result === "allCreated" && rows.length === batch.length) return batch.map(() => "created");
  const outcomes = toOutcomes(
    batch,
    rows,
    result === "allCreated" ? { createdIds: toIds(rows), stored: new Map() } : result,
  );
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

/** The outcome of each plant; undefined if it was neither created nor found. */
function toOutcomes(
  batch: readonly NewEntry[],
  rows: readonly NewEntry[],
  { createdIds, stored }: InsertResult,
): (Outcome | undefined)[] {
  const rowById = new Map(rows.map(({ plant }) => [plant.id, plant]));
  return batch.map(({ plant }) => {
    const isCreated = createdIds.has(plant.id);
    const row = rowById.get(plant.id);
    if (isCreated && row === plant) return "created";
    const found = isCreated ? row : stored.get(plant.id);
    return found && compareWithStored(found, plant);
  });
}

/**
 * Inserts rows by INSERT: one round trip if every plant is new; a second one reads those that were
 * already stored. The read sees every row that the insert conflicted with: under READ COMMITTED as
 * a later statement, under SERIALIZABLE because the insert fails with 40001 on a row that it cannot
 * see, and is retried.
 */
async function insertAll(
  pool: HostPool,
  rows: readonly NewEntry[],
  lockMs: number,
): Promise<InsertResult | "allCreated"> {
  const inserted: string[] = [];
  for (let start = 0; start < rows.length; start += insertRowsMax)
    inserted.push(...(await insert(pool, rows.slice(start, start + insertRowsMax), lockMs)));
  if (inserted.length === rows.length) return "allCreated";
  const createdIds = new Set(inserted.map(BigInt));
  const others = rows.filter(({ plant }) => !createdIds.has(plant.id));
  return { createdIds, stored: others.length === 0 ? new Map() : await selectDurable(pool, others, lockMs) };
}

/**
 * Inserts rows by COPY. If that conflicts with a stored id, reads the stored plants, and copies the
 * rest. If that conflicts too, another client is creating the same plants, and INSERT reports the
 * conflicts row by row.
 */
async function copyAll(
  pool: HostPool,
  rows: readonly NewEntry[],
  lockMs: number,
): Promise<InsertResult | "allCreated"> {
  if (await copy(pool, rows, lockMs)) return "allCreated";
  const stored = await selectDurable(pool, rows, lockMs);
  const missing = rows.filter(({ plant }) => !stored.has(plant.id));
  if (missing.length === 0 || (await copy(pool, missing, lockMs)))
    return { createdIds: toIds(missing), stored };
  const rest = await insertAll(pool, missing, lockMs);
  if (rest === "allCreated") return { createdIds: toIds(missing), stored };
  return { createdIds: rest.createdIds, stored: new Map([...stored, ...rest.stored]) };
}

/**
 * Inserts rows by COPY; returns false, and inserts none, if a single id is already stored, or a
 * single row is skipped.
 */
async function copy(pool: HostPool, rows: readonly NewEntry[], lockMs: number): Promise<boolean> {
  const connection = await pool.connect();
  try {
    await begin(connection, "", { lockMs });
    const stream = connection.query(copyFrom(`COPY plants (${columnList}, created_at, creator) FROM STDIN`));
    await new Promise<void>((resolve, reject) => {
      stream
        .once("finish", resolve)
        .on("error", reject)
        .end(Buffer.from(toCopyText(rows, Date.now())));
    });
    if (stream.rowCount !== rows.length) {
      // A trigger has skipped some: only INSERT tells which.
      await connection.query("ROLLBACK");
      connection.release();
      return false;
    }
    await commit(connection);
    connection.release();
    return true;
  } catch (error) {
    const isConflict = error instanceof DatabaseError && error.code === uniqueViolation;
    // After any other error the state of the connection is unknown.
    const isRolledBack =
      isConflict && (await connection.query("ROLLBACK").catch(() => undefined)) !== undefined;
    connection.release(!isRolledBack);
    if (isConflict) return false;
    throw error;
  }
}

function toIds(rows: readonly NewEntry[]): Set<bigint> {
  return new Set(rows.map(({ plant }) => plant.id));
}

/** Inserts rows by one statement, and returns the ids that were created. */
async function insert(pool: HostPool, rows: readonly NewEntry[], lockMs: number): Promise<string[]> {
  const statement = { ...insertStatement(pool, rows), rowMode: "array" as const };
  const { rows: inserted } = await pool.query<[string]>(withLockLimit(statement, lockMs));
  return inserted.map(([id]) => id);
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
  if (pool.insertMethod === "values") {
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
    ...(pool.namesStatements ? { name: "plantstore_insert" } : {}),
    text: `${into} SELECT $1::int8, * FROM unnest(${arrays.join(", ")}) ${conflict}`,
    values: [
      createdAt,
      toInt8Array(rows.map(({ plant }) => plant.id)),
      toInt4Array(rows.map(({ creator }) => creator)),
      ...fieldNames.map((field) => toTextArray(rows.map(({ plant }) => toText(plant[field])))),
    ],
  };
}

/** The parameter of a field for the rows of a batch: an array of texts, whatever its type. */
function arrayParameter(type: string, field: number): string {
  return `$${field + 4}::text[]${type === "text" ? "" : `::${type}[]`}`;
}

function toText(value: FieldValue | undefined): string | undefined {
  return value === undefined || typeof value === "string" ? value : String(value);
}

/**
 * Reads the stored plants with the ids of some plants, once they are as durable as a commit. A row
 * is visible as soon as it is committed on this host; with a synchronous standby whose wait was cut
 * short, the standby may not have it yet. Locking the row is a commit of its own, which waits for
 * the standby after the row's own commit.
 */
async function selectDurable(
  pool: HostPool,
  rows: readonly NewEntry[],
  lockMs = batchLockMsMax,
): Promise<Map<bigint, NewPlant>> {
  const ids = rows.map(({ plant }) => plant.id);
  const { plants: stored, hasStandbys } = await select(pool, ids);
  if (hasStandbys) {
    // Citus locks rows of one shard in a statement, and each node has a standby of its own.
    const parts = pool.insertMethod === "values" ? ids.map((id) => [id]) : [ids];
    for (const part of parts) {
      const lock = {
        text: "SELECT 1 FROM plants WHERE id = ANY ($1::int8[]) ORDER BY id FOR KEY SHARE",
        values: [part.map(String)],
      };
      await pool.query(withLockLimit(lock, lockMs));
    }
  }
  return stored;
}

async function select(
  pool: HostPool,
  ids: readonly bigint[],
): Promise<{ plants: Map<bigint, NewPlant>; hasStandbys: boolean }> {
  const { rows } = await pool.query<PlantRow & { standbys: string | null }>(
    `SELECT ${columnList}, current_setting('synchronous_standby_names', true) AS standbys
     FROM plants WHERE id = ANY ($1::int8[])`,
    [ids.map(String)],
  );
  return {
    plants: new Map(rows.map((row) => [BigInt(row.id), toNewPlant(BigInt(row.id), row)])),
    hasStandbys: (rows[0]?.standbys ?? "") !== "",
  };
}

/**
 * Exports plants ordered by id: COPY is one statement, and so one snapshot. Of 2 million plants, a
 * cursor with FETCH 5,000 cost the client 0.45 µs each plus a round trip for each FETCH; COPY costs
 * 0.3 µs, and the server works meanwhile.
 */
export async function* exportPlants(primary: Primary, filter: ExportFilter): AsyncGenerator<StoredPlant[]> {
  const connection = await primary.once((pool) => pool.connect()).catch(rejectForOperator);
  try {
    await begin(connection, "READ ONLY", { statementMs: exportMsMax, lockMs: exportLockMsMax });
    yield* copyOut(connection, filter);
  } catch (error) {
    await rejectForOperator(error);
  } finally {
    // The connection is not reused: after an interrupted export rows are still on their way, and a
    // server that cannot send them ends only with the socket.
    socketOf(connection).destroy();
    connection.release(true);
  }
}

/** Counts the plants that an export has. */
export async function countPlants(primary: Primary, filter: ExportFilter): Promise<number> {
  // Counting all plants takes longer than the time limit of a batch.
  const statement = {
    text: `SELECT count(*) FROM plants ${whereClause(filter)}`,
    query_timeout: exportMsMax,
    lockMs: exportLockMsMax,
  };
  const counting = primary.once((pool) => pool.query<{ count: string }>(statement));
  const { rows } = await counting.catch(rejectForOperator);
  return Number(rows[0]?.count);
}

async function* copyOut(connection: PoolClient, filter: ExportFilter): AsyncGenerator<StoredPlant[]> {
  const selected = columns.map((column) => `plants.${column}`);
  if (filter.withCreation) selected.push("created_at", "creators.name");
  const creator = filter.withCreation ? "LEFT JOIN creators ON creators.id = creator" : "";
  const sql = `COPY (SELECT ${selected.join(", ")} FROM plants ${creator} ${whereClause(filter)}
                     ORDER BY plants.id) TO STDOUT`;
  const parse = filter.withCreation ? fromCopyTextWithCreations : fromCopyText;
  const query = Object.assign(copyTo(sql), { query_timeout: exportMsMax, callback: () => undefined });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest: string[] = [];
  try {
    for await (const chunk of connection.query(query)) {
      const text = decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf("\n") + 1;
      if (end > 0) {
        yield parse(rest.join("") + text.slice(0, end));
        rest = [];
      }
      rest.push(text.slice(end));
    }
  } finally {
    // node-postgres clears its timer in this callback, which the stream never calls; the timer
    // would keep the process running.
    query.callback();
  }
}

/** The values are part of the text, as COPY takes no parameters. */
function whereClause({ tag, sinceId }: ExportFilter): string {
  const conditions = [
    ...(sinceId === undefined ? [] : [`plants.id > ${sinceId}`]),
    ...(tag === undefined ? [] : [`tag = ${escapeLiteral(tag)}`]),
  ];
  return conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
}
