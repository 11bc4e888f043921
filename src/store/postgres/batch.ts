// Commits a batch by INSERT or COPY, and reads the plants that it conflicted with.

import type { Collection, Field, Plant, PlantColumns } from "../../contract/contract.ts";
import { toColumns, toValues } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { compareWithStored, type NewEntry, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { hasKeySql, keepsKeys, keyColumn } from "../shared/create-key.ts";
import { apart, isTableLocked, partLockMs } from "./apart.ts";
import { toCopyText } from "./copy-format.ts";
import { DatabaseError } from "./driver.ts";
import { classifyError, errorReason, isLockTimeout, isOfRow, isTooLarge } from "./errors.ts";
import type { HostPool, Queries, Statement } from "./host-pool.ts";
import type { SessionTraits } from "./session.ts";

/** The client returns int8 as decimal digits. */
type PlantRow = PlantColumns & { readonly id: string; readonly create_key?: string | null };

/** The statements of a collection. */
interface BatchSql {
  readonly collection: Collection;
  readonly columns: string;
  /** The rows that COPY writes. */
  readonly copied: string;
  readonly idType: string;
  /** PostgreSQL's type of each column of a field, and of the key. */
  readonly types: readonly string[];
  readonly hasKeys: boolean;
  readonly insertInto: string;
  readonly onConflict: string;
  /** Inserts the rows of arrays: one statement for all sizes of a batch. */
  readonly insertFromArrays: { readonly name: string; readonly text: string };
  /** Like insertFromArrays, with a time of creation for each row. */
  readonly insertWithTimes: { readonly name: string; readonly text: string };
}

/** The values that the rows of a batch have in common. */
export interface BatchValues {
  readonly createdAt: number;
  /**
   * The key of plants whose key is null: a batch that is repeated, as the answer to its commit was
   * lost, finds its own plants by it. It is shorter than the keys of the index.
   */
  readonly ownKey: string;
}

export function newOwnKey(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("base64url");
}

/** A collection has its statements for as long as it is in use. */
const statements = new WeakMap<Collection, BatchSql>();

function sqlOf(collection: Collection): BatchSql {
  const existing = statements.get(collection);
  if (existing !== undefined) return existing;
  const columns = collection.fields.map(({ column }) => column);
  const types = collection.fields.map(({ type }) => type.column.postgres);
  // The first column has one value for all rows of a batch, except for those of some imports.
  const hasKeys = keepsKeys(collection);
  const keyed = hasKeys ? [keyColumn] : [];
  const marked = collection.marker === undefined ? [] : [`"${collection.marker}"`];
  const all = ["created_at", "id", "creator", ...columns, ...keyed, ...marked];
  const insertInto = `INSERT INTO "${collection.table}" (${all.join(", ")})`;
  const idType = collection.id.type.column.postgres;
  const own = hasKeys ? [...types, "text"] : types;
  const arrays = [`$2::${idType}[]`, "$3::int4[]", ...own.map(arrayParameter)].join(", ");
  const onConflict = `ON CONFLICT ${hasKeys ? "" : "(id)"} DO NOTHING RETURNING id`;
  const noMark = marked.map(() => ", NULL::boolean").join("");
  const text = `${insertInto} SELECT $1::int8, *${noMark} FROM unnest(${arrays}) ${onConflict}`;
  const timed = `${insertInto} SELECT *${noMark} FROM unnest($1::int8[], ${arrays}) ${onConflict}`;
  const sql = {
    collection,
    columns: ["id", ...columns].join(", "),
    copied: ["id", ...columns, "created_at", "creator", ...keyed, ...marked].join(", "),
    idType,
    types: own,
    hasKeys,
    insertInto,
    onConflict,
    insertFromArrays: { name: statementName(text), text },
    insertWithTimes: { name: statementName(timed), text: timed },
  };
  statements.set(collection, sql);
  return sql;
}

/** PostgreSQL keeps 63 bytes of a name, so it has no table's: two may begin with the same 45. */
function statementName(text: string): string {
  return `plantstore_insert_${new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/**
 * How long INSERT is used after a COPY that failed, whose rows were all written for nothing: 2 % of
 * the time is lost at most, where a batch takes 2 ms.
 */
const copyPauseMs = 100;

/**
 * How long a COPY waits for a lock: the row that holds it up is probably about to be stored. On
 * Citus COPY writes the shards in another order than INSERT, so that two batches with the same ids
 * would deadlock, and wait a second for PostgreSQL to find that.
 */
const copyLockMsMax = 50;

/** Parameters of one INSERT: the protocol counts them, one a column and row, in 16 bits. */
const parametersMax = 60_000;

/** The plants of a batch that are of one collection. */
interface Part {
  readonly collection: Collection;
  readonly entries: readonly NewEntry[];
  /** The entries in the order of their ids, each id once. */
  readonly rows: readonly NewEntry[];
}

/**
 * Commits a batch. Safe to repeat. Rejects with PostgreSQL's error, see classifyError.
 *
 * @param values the same when it is repeated.
 * @param onUnavailable called with the reason for a single plant.
 */
export async function commitBatch(
  pool: HostPool,
  batch: readonly NewEntry[],
  values: BatchValues,
  onUnavailable: OnUnavailable,
): Promise<Outcome[]> {
  const parts = partsOf(batch);
  // COPY reports no conflicts: INSERT then decides row by row.
  const isCopied = mayCopy(pool, parts) && (await copy(pool, parts, values));
  const [only, ...others] = parts;
  if (only === undefined) return [];
  if (others.length === 0) return await commitRows(pool, only, values, isCopied, onUnavailable);
  const outcomes = new Map<NewEntry, Outcome>();
  for (const part of parts) {
    const ofPart = await commitRows(pool, part, values, isCopied, onUnavailable);
    for (const [index, entry] of part.entries.entries()) outcomes.set(entry, ofPart[index] as Outcome);
  }
  return batch.map((entry) => outcomes.get(entry) as Outcome);
}

function partsOf(batch: readonly NewEntry[]): Part[] {
  const [first] = batch;
  if (first === undefined) return [];
  const isOne = batch.every(({ collection }) => collection === first.collection);
  const groups = isOne ? [batch] : [...Map.groupBy(batch, ({ collection }) => collection).values()];
  return groups.map(toPart);
}

/**
 * Two batches that lock their rows in the same order cannot deadlock.
 *
 * @param entries at least one, all of one collection.
 */
function toPart(entries: readonly NewEntry[]): Part {
  const { collection } = entries[0] as NewEntry;
  const rows = isAscending(entries) ? entries : withoutDuplicates(entries.toSorted(byId));
  return { collection, entries, rows };
}

/**
 * Commits a part. A row that PostgreSQL refuses, such as 1,000 texts, whose row is over 8 KB, or that
 * another transaction has locked, fails alone.
 */
function commitRows(
  pool: HostPool,
  part: Part,
  values: BatchValues,
  isCopied: boolean,
  onUnavailable: OnUnavailable,
): Promise<Outcome[]> {
  const deadline = performance.now() + lockedMsMax;
  const commitSome = (entries: readonly NewEntry[]) => {
    // One that is alone may wait: another server may be about to store it.
    const waitMs = entries.length === 1 ? Math.ceil(deadline - performance.now()) : 0;
    const commit = (connection: Queries) => commitPart(connection, pool.traits, toPart(entries), values);
    return pool.transaction(commit, { lockMs: Math.max(waitMs, partLockMs) });
  };
  return apart<NewEntry, Outcome>(
    part.entries,
    (entries, isPart) =>
      isPart ? commitSome(entries) : commitPart(pool, pool.traits, part, values, isCopied),
    async (error) => {
      if (isTooLarge(error)) return "tooLarge";
      // On Citus a shard that moves is locked by other means.
      const mayBeRow = isLockTimeout(error) && pool.traits.insertMethod !== "values";
      const isLocked = mayBeRow && !(await isTableLocked(pool));
      return isLocked || isOfRow(error) ? "unavailable" : undefined;
    },
    (error) => onUnavailable(errorReason(error)),
  );
}

/** How long plants that are locked are waited for, with those that they were to be committed with. */
const lockedMsMax = 900;

/** How often a plant is inserted again that somebody has deleted before it could be compared. */
const deletedTriesMax = 10;

/** @param isCopied whether all rows were created already. */
async function commitPart(
  queries: Queries,
  traits: SessionTraits,
  { collection, entries, rows }: Part,
  values: BatchValues,
  isCopied = false,
  triesLeft = deletedTriesMax,
): Promise<Outcome[]> {
  const keys = [...new Set(entries.flatMap(({ key }) => (typeof key === "string" ? [key] : [])))];
  const isNew = await newKeys(queries, traits, collection, keys);
  const inserted = isCopied
    ? rows.map(({ plant }) => plant.id)
    : await insert(queries, traits, collection, isNew === undefined ? rows : rows.filter(isNew), values);
  // Avoids sets and maps of bigints, which cost as much as the COPY.
  if (inserted.length === entries.length) return entries.map(() => "created");
  const createdIds = new Set(inserted.map((id) => collection.id.type.fromColumn(id)));
  const others = entries.filter(({ plant: { id } }) => !createdIds.has(id));
  const stored = await select(queries, collection, "id", [...new Set(others.map(({ plant }) => plant.id))]);
  const byId = new Map(stored.map((each) => [each.plant.id, each]));
  const rowById = new Map(rows.map((entry) => [entry.plant.id, entry]));
  const keyed = await select(queries, collection, keyColumn, keys);
  const byKey = new Map(keyed.map((each) => [each.key, each]));
  const gone: NewEntry[] = [];
  const outcomes = entries.map((entry): Outcome => {
    const { plant, key } = entry;
    const row = rowById.get(plant.id);
    const isCreated = createdIds.has(plant.id);
    if (isCreated && row === entry) return "created";
    if (key === null) return row === entry && byId.get(plant.id)?.key === values.ownKey ? "created" : "taken";
    const found = key === undefined ? (isCreated ? row : byId.get(plant.id)) : byKey.get(key);
    if (found !== undefined) return compareWithStored(collection, found.plant, plant);
    if (key !== undefined) return "taken";
    gone.push(entry);
    return "unavailable";
  });
  if (gone.length === 0 || triesLeft === 0) return outcomes;
  // Deleted between the INSERT and the SELECT.
  const again = await commitPart(queries, traits, toPart(gone), values, false, triesLeft - 1);
  return outcomes.map((outcome) => (outcome === "unavailable" ? (again.shift() as Outcome) : outcome));
}

/**
 * Whether no plant has the key of an entry; undefined where a unique index finds that out. Citus has
 * none: such an index would need the id, by which it distributes. There a key's first id is the same
 * each time, which its primary key makes unique.
 */
async function newKeys(
  queries: Queries,
  { insertMethod }: SessionTraits,
  collection: Collection,
  keys: readonly string[],
): Promise<((entry: NewEntry) => boolean) | undefined> {
  if (keys.length === 0 || insertMethod !== "values") return undefined;
  const stored = await select(queries, collection, keyColumn, keys);
  const known = new Set<unknown>(stored.map(({ key }) => key));
  return ({ key }) => !known.has(key);
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

function mayCopy({ traits, copyFailedAt }: HostPool, parts: readonly Part[]): boolean {
  const hasKey = ({ key }: NewEntry) => typeof key === "string";
  if (traits.insertMethod === "values" && parts.some(({ rows }) => rows.some(hasKey))) return false;
  const rows = parts.reduce((sum, part) => sum + part.rows.length, 0);
  return rows >= traits.copyRowsMin && performance.now() - copyFailedAt >= copyPauseMs;
}

/**
 * Inserts rows by COPY; false if the database reports any error, such as a single id that is stored
 * or locked, or a shard that is being split.
 */
async function copy(pool: HostPool, parts: readonly Part[], values: BatchValues): Promise<boolean> {
  // The statements of one simple query are one transaction, and have one round trip. On Citus COPY
  // in no transaction would open a connection for each of the node's own shards.
  const copies = parts.map(
    ({ collection }) => `COPY "${collection.table}" (${sqlOf(collection).copied}) FROM STDIN`,
  );
  const sql = [`SET LOCAL lock_timeout = ${copyLockMsMax}`, ...copies].join("; ");
  const texts = parts.map(({ collection, rows }) =>
    Buffer.from(toCopyText(collection, rows, values.createdAt, values.ownKey)),
  );
  try {
    await pool.copy(sql, texts);
    return true;
  } catch (error) {
    if (!(error instanceof DatabaseError) || classifyError(error) === "connectionLost") throw error;
    pool.copyFailedAt = performance.now();
    return false;
  }
}

/**
 * Inserts rows in as many statements as the protocol needs, and returns the ids that were created,
 * of which int8 are decimal digits.
 */
export async function insert(
  queries: Queries,
  { insertMethod }: SessionTraits,
  collection: Collection,
  rows: readonly NewEntry[],
  common: BatchValues,
): Promise<PlantId[]> {
  const sql = sqlOf(collection);
  const rowsMax = Math.floor(parametersMax / (sql.types.length + 2));
  const created: PlantId[] = [];
  for (let start = 0; start < rows.length; start += rowsMax) {
    const part = rows.slice(start, start + rowsMax);
    const statement = (insertMethod === "values" ? valuesStatement : arraysStatement)(sql, part, common);
    const { rows: ids } = await queries.query<[string]>({ ...statement, rowMode: "array" });
    for (const [id] of ids) created.push(id);
  }
  return created;
}

function arraysStatement(
  { collection, insertFromArrays, insertWithTimes, hasKeys }: BatchSql,
  rows: readonly NewEntry[],
  { createdAt, ownKey }: BatchValues,
): Statement {
  const hasTimes = rows.some((row) => row.createdAt !== undefined);
  return {
    ...(hasTimes ? insertWithTimes : insertFromArrays),
    values: [
      hasTimes ? rows.map((row) => row.createdAt ?? createdAt) : createdAt,
      rows.map(({ plant }) => String(plant.id)),
      rows.map(({ creator }) => creator),
      ...collection.fields.map((field, index) => rows.map(({ plant }) => toText(field, plant, index))),
      ...(hasKeys ? [rows.map((row) => keyOf(row, ownKey))] : []),
    ],
  };
}

/** A list of VALUES is another statement for each size, so it has no name. */
function valuesStatement(
  { collection, insertInto, onConflict, idType, types, hasKeys }: BatchSql,
  rows: readonly NewEntry[],
  { createdAt, ownKey }: BatchValues,
): Statement {
  const tuples = rows.map(({ createdAt: own = createdAt }, row) => {
    const first = (types.length + 2) * row + 2;
    const values = types.map((type, field) => `$${first + 2 + field}::${type}`);
    const marked = collection.marker === undefined ? [] : ["NULL::boolean"];
    // Relative to the first parameter, which the statement must have.
    const time = own === createdAt ? "$1::int8" : `$1::int8 + (${own - createdAt})`;
    return `(${[time, `$${first}::${idType}`, `$${first + 1}::int4`, ...values, ...marked].join(",")})`;
  });
  const values = rows.flatMap((row) => [
    String(row.plant.id),
    row.creator,
    ...toColumns(collection, row.plant.values),
    ...(hasKeys ? [keyOf(row, ownKey)] : []),
  ]);
  return { text: `${insertInto} VALUES ${tuples.join(",")} ${onConflict}`, values: [createdAt, ...values] };
}

function keyOf({ key }: NewEntry, ownKey: string): string | null {
  return key === null ? ownKey : (key ?? null);
}

/** The parameter of a field for the rows of a batch: an array of texts, whatever its type. */
function arrayParameter(type: string, field: number): string {
  return `$${field + 4}::text[]${type === "text" ? "" : `::${type}[]`}`;
}

function toText({ type }: Field, { values }: Plant, index: number): string | undefined {
  const value = values[index];
  return value === undefined ? undefined : String(type.toColumn(value));
}

/** A stored plant, and its key where the collection keeps keys. */
interface KeyedPlant {
  readonly plant: Plant;
  readonly key: string | null | undefined;
}

/**
 * Reads the stored plants with some ids or keys. A plant that it finds is on the disk and the standby:
 * a transaction shows its rows after it has waited for both. It has no name: the plan of a prepared
 * statement would be kept from when the table was small.
 */
async function select(
  queries: Queries,
  collection: Collection,
  column: "id" | typeof keyColumn,
  values: readonly PlantId[],
): Promise<KeyedPlant[]> {
  if (values.length === 0) return [];
  const { columns, idType, hasKeys } = sqlOf(collection);
  const all = `${columns}${hasKeys ? `, ${keyColumn}` : ""}`;
  const isWanted =
    column === "id" ? `id = ANY ($1::${idType}[])` : `${keyColumn} = ANY ($1::text[]) AND ${hasKeySql}`;
  const sql = `SELECT ${all} FROM "${collection.table}" WHERE ${isWanted}`;
  const { rows } = await queries.query<PlantRow>(sql, [values.map(String)]);
  return rows.map((row) => {
    const plant = { id: collection.id.type.fromColumn(row.id), values: toValues(collection, row) };
    return { plant, key: row.create_key };
  });
}
