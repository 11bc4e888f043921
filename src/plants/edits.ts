// Lists the history of edits, and undoes them.

import { ApiError } from "../base/errors.ts";
import {
  type Collection,
  type Contract,
  collectionOf,
  isSamePlant,
  type Plant,
} from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { int64Max } from "../json/int64.ts";
import { type ConditionalEdit, editsMax } from "../store/shared/plant-edit.ts";
import { type Creation, findPlants, nextVersion, type StoredPlant } from "../store/shared/plant-rows.ts";
import { list } from "../store/shared/sql-work.ts";
import type { SqlConnection, SqlValue } from "../store/sql-connection.ts";
import type { Editor, EditRun } from "./edit-run.ts";
import { faultOfRecorded, parseRecorded } from "./recorded-plant.ts";

/** A plant as the history has it, or why today's contract cannot read it; undefined for none. */
export type RecordedPlant = Plant | ApiError | undefined;

/** An edit in the history. */
export interface HistoryEntry {
  readonly run: string;
  /** The number of the edit in its run. */
  readonly seq: number;
  readonly collection: Collection;
  readonly id: PlantId;
  /** The version of the plant since the edit. */
  readonly version: bigint;
  /** Undefined if there was no plant, unless an undo has restored it: then that of its deletion. */
  readonly versionBefore: bigint | undefined;
  /** The version that the edit, an undo, has restored. */
  readonly restores: bigint | undefined;
  /** Milliseconds since the epoch. */
  readonly editedAt: number;
  readonly editor: Editor;
  /** Undefined for a plant that was restored. */
  readonly before: RecordedPlant;
  /** Undefined for a plant that was deleted. */
  readonly after: RecordedPlant;
  readonly creation: Creation;
}

/** The place of an entry in the history, from which a list continues. */
export type HistoryCursor = Pick<HistoryEntry, "editedAt" | "run" | "seq" | "version">;

/** Selects the entries to list; without a property all of them. */
export interface HistoryFilter {
  /** Undefined for all of the contract. */
  readonly collection?: Collection | undefined;
  /** One of the collection. */
  readonly id?: PlantId | undefined;
  /** Only edits from this time on, in milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Only entries that come after this one in the list. */
  readonly after?: HistoryCursor | undefined;
}

/** Entries, and the place from which the list continues, if there are more. */
interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  readonly next: HistoryCursor | undefined;
}

interface EditRow {
  readonly run: string;
  readonly seq: bigint;
  readonly collection: string;
  readonly plant_id: string;
  readonly version: bigint;
  readonly version_before: bigint | null;
  readonly restores: bigint | null;
  readonly edited_at: bigint;
  readonly editor: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly created_at: bigint;
  readonly creator: bigint | null;
  readonly create_key: string | null;
}

/** Bytes of the plants in a page, unless its first entry has more. */
const pageBytesMax = 2 ** 22;

/**
 * Lists a page of entries, the latest first: those of one plant in the order of its versions, in which
 * an index has them.
 */
export async function listEdits(
  contract: Contract,
  sql: SqlConnection,
  { collection, id, since, after }: HistoryFilter,
  entriesMax = editsMax,
): Promise<HistoryPage> {
  const parameters: SqlValue[] = [];
  const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
  const own = isOfCollections(collection === undefined ? contract.collections : [collection]);
  const conditions = [sql.inTime, own];
  if (since !== undefined) conditions.push(`edited_at >= ${parameter(since)}`);
  if (id !== undefined) {
    conditions.push(`plant_id = ${parameter(String(id))}`);
    if (after !== undefined) conditions.push(`version < ${parameter(after.version)}`);
  } else if (after !== undefined) {
    const place = [after.editedAt, after.run, after.seq].map(parameter);
    conditions.push(`(edited_at, run, seq) < (${place.join(", ")})`);
  }
  const order = id === undefined ? "edited_at DESC, run DESC, seq DESC" : "version DESC";
  const selection = `WHERE ${conditions.join(" AND ")} ORDER BY ${order}`;
  return readPage(contract, sql, selection, parameters, entriesMax);
}

/** Reads the first entries of a selection, as many as the limit of bytes allows. */
async function readPage(
  contract: Contract,
  sql: SqlConnection,
  selection: string,
  parameters: readonly SqlValue[],
  entriesMax: number,
): Promise<HistoryPage> {
  const sizes = await sql.query<{ bytes: bigint }>(
    `SELECT coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0) AS bytes
     FROM edits ${selection} LIMIT ${entriesMax + 1}`,
    parameters,
  );
  let bytes = 0;
  const isOver = (row: { readonly bytes: bigint }, index: number) => {
    bytes += Number(row.bytes);
    return index > 0 && bytes > pageBytesMax;
  };
  const over = sizes.slice(0, entriesMax).findIndex(isOver);
  const count = over === -1 ? Math.min(sizes.length, entriesMax) : over;
  const rows = await sql.query<EditRow>(
    `SELECT run, seq, collection, plant_id, version, version_before, restores, edited_at, editor, created_at, creator, create_key,
       before, after
     FROM edits ${selection} LIMIT ${count}`,
    parameters,
  );
  const entries = rows.map((row) => toEntry(contract, row));
  return { entries, next: sizes.length > count ? entries.at(-1) : undefined };
}

function toEntry(contract: Contract, row: EditRow): HistoryEntry {
  const collection = collectionOf(contract, row.collection);
  const id = collection.id.type.fromColumn(row.plant_id);
  const recorded = (json: string | null) => (json === null ? undefined : parseRecorded(collection, id, json));
  return {
    run: row.run,
    seq: Number(row.seq),
    collection,
    id,
    version: row.version,
    versionBefore: row.version_before ?? undefined,
    restores: row.restores ?? undefined,
    editedAt: Number(row.edited_at),
    editor: JSON.parse(row.editor) as Editor,
    before: recorded(row.before),
    after: recorded(row.after),
    creation: {
      createdAt: Number(row.created_at),
      creator: row.creator === null ? null : Number(row.creator),
      ...(row.create_key !== null && { key: row.create_key }),
    },
  };
}

/** A run, or the edits of one plant in it. */
type RunFilter = Pick<HistoryEntry, "run"> & Pick<HistoryFilter, "collection" | "id">;

/** Edits of a collection that the contract no longer has are left out. */
function isOfCollections(collections: readonly Collection[]): string {
  return `collection IN (${collections.map(({ table }) => `'${table}'`).join(", ")})`;
}

/** The result of an undo. */
export interface Undone {
  /** The entries of the run that were found. */
  readonly found: number;
  /** The entries that were undone; a plant may have several. */
  readonly undone: number;
  /** Plants that are already what they were before the run. */
  readonly unchanged: number;
  /** The ids of plants that have changed since, and were left as they are. */
  readonly left: readonly PlantId[];
  /** Plants that today's contract forbids or cannot read, and why. */
  readonly refused: ReadonlyMap<PlantId, string>;
}

/** The result of an undo for a plant, of which it may have earlier edits to undo. */
interface Reverted {
  /** The version that the plant had before the edit that was undone. */
  readonly version: bigint | undefined;
  /** The plant as it is since. */
  readonly stored: StoredPlant | undefined;
}

/**
 * Undoes the edits of a run, or of one plant in it, latest first. Plants that have another version than
 * the edit gave them stay as they are, and so does what today's contract forbids.
 *
 * @param undo the run of the undo itself, which can also be undone.
 */
export async function undoRun(
  contract: Contract,
  undo: EditRun,
  sql: SqlConnection,
  filter: RunFilter,
): Promise<Undone> {
  // A transaction of an operation edits several collections under one run.
  const collections = filter.collection === undefined ? contract.collections : [filter.collection];
  const all: Undone[] = [];
  for (const collection of collections)
    all.push(await undoInCollection(contract, undo, sql, { ...filter, collection }));
  const sum = (count: (each: Undone) => number) => all.reduce((total, each) => total + count(each), 0);
  return {
    found: sum(({ found }) => found),
    undone: sum(({ undone }) => undone),
    unchanged: sum(({ unchanged }) => unchanged),
    left: all.flatMap(({ left }) => left),
    refused: new Map(all.flatMap(({ refused }) => [...refused])),
  };
}

async function undoInCollection(
  contract: Contract,
  undo: EditRun,
  sql: SqlConnection,
  { collection, ...run }: RunFilter & { readonly collection: Collection },
): Promise<Undone> {
  /** Plants with an edit that was not undone, and whether they are as they were before it. */
  const others = new Map<PlantId, boolean>();
  const refused = new Map<PlantId, string>();
  const reverted = new Map<PlantId, Reverted>();
  let [found, undone] = [0, 0];
  for await (const entries of editsOfRun(contract, sql, { ...run, collection })) {
    if (entries.length === 0) continue;
    found += entries.length;
    const current = await readCurrent(collection, sql, entries);
    const edits = entries.map((entry) => {
      const edit = planUndo(entry, reverted.get(entry.id), current, refused);
      if (edit !== undefined) {
        const { replacement, version } = edit;
        const stored = replacement && { id: entry.id, values: replacement, ...entry.creation, version };
        reverted.set(entry.id, { version: entry.versionBefore, stored });
      }
      return edit;
    });
    const made = edits.filter((edit) => edit !== undefined);
    const outcomes = await undo.edit(collection, made);
    const done = new Set(made.filter((_, index) => outcomes[index] === "done"));
    undone += done.size;
    const isDone = (index: number) => edits[index] !== undefined && done.has(edits[index]);
    const left = entries.filter(({ id }, index) => !isDone(index) && !refused.has(id));
    const stored = await findPlants(
      collection,
      sql,
      left.map(({ id }) => id),
    );
    // The entries come latest first, so the first edit of a plant decides.
    for (const [index, { id, before }] of entries.entries()) {
      if (isDone(index)) others.delete(id);
      else if (!refused.has(id))
        others.set(id, !(before instanceof ApiError) && isSamePlant(collection, stored.get(id), before));
    }
  }
  const left = [...others].flatMap(([id, isAsBefore]) => (isAsBefore ? [] : [id]));
  return { found, undone, unchanged: others.size - left.length, left, refused };
}

/** Plants as they are stored, and what the history has of their versions. */
interface Current {
  readonly stored: ReadonlyMap<PlantId, StoredPlant>;
  /** The version of the latest edit of each plant that is gone. */
  readonly deleted: ReadonlyMap<PlantId, bigint>;
  /** The version whose plant, or deletion, a version of a plant has: its own, unless an undo restored one. */
  readonly origin: (id: PlantId, version: bigint) => bigint;
}

async function readCurrent(
  collection: Collection,
  sql: SqlConnection,
  entries: readonly HistoryEntry[],
): Promise<Current> {
  const ids = new Map(entries.map(({ id }) => [String(id), id]));
  const stored = await findPlants(collection, sql, [...ids.values()]);
  const gone = [...ids].flatMap(([text, id]) => (stored.has(id) ? [] : [text]));
  const rows =
    gone.length === 0
      ? []
      : await sql.query<VersionRow>(
          `SELECT plant_id, max(version) AS version FROM edits
           WHERE plant_id IN ${list(gone)} AND collection = '${collection.table}' GROUP BY plant_id`,
          gone,
        );
  const deleted = new Map(rows.map(({ plant_id, version }) => [ids.get(plant_id) as PlantId, version]));
  const versions = [
    ...[...stored].map(([id, { version }]) => [String(id), version]),
    ...[...deleted].map(([id, version]) => [String(id), version]),
    ...entries.map(({ id, versionBefore }) => [String(id), versionBefore ?? 0n]),
  ];
  const pairs = versions.map(
    (_, index) => `(CAST($${2 * index + 1} AS text), CAST($${2 * index + 2} AS bigint))`,
  );
  const undone = await sql.query<VersionRow & { readonly restores: bigint }>(
    `SELECT plant_id, version, restores FROM edits
     WHERE (plant_id, version) IN (VALUES ${pairs.join(", ")}) AND collection = '${collection.table}'
       AND restores IS NOT NULL`,
    versions.flat() as SqlValue[],
  );
  const origins = new Map(
    undone.map(({ plant_id, version, restores }) => [`${version} ${plant_id}`, restores]),
  );
  return { stored, deleted, origin: (id, version) => origins.get(`${version} ${id}`) ?? version };
}

interface VersionRow {
  readonly plant_id: string;
  readonly version: bigint;
}

/** The edit that undoes an entry; undefined if the plant has changed since, or may not be as it was. */
function planUndo(
  { collection, id, version, versionBefore, restores, before, after, creation }: HistoryEntry,
  reverted: Reverted | undefined,
  { stored, deleted, origin }: Current,
  refused: Map<PlantId, string>,
): ConditionalEdit | undefined {
  if (refused.has(id)) return undefined;
  const expected = reverted === undefined ? stored.get(id) : reverted.stored;
  const found = reverted === undefined ? (expected?.version ?? deleted.get(id)) : reverted.version;
  const isAsEdited =
    reverted === undefined
      ? found !== undefined &&
        (expected === undefined) === (after === undefined) &&
        origin(id, found) === (restores ?? version)
      : found === version;
  if (found === undefined || !isAsEdited) return undefined;
  const fault = before instanceof ApiError ? before : before && faultOfRecorded(collection, before);
  if (fault !== undefined) {
    refused.set(id, fault.message);
    return undefined;
  }
  return {
    id,
    expected,
    replacement: before === undefined || before instanceof ApiError ? undefined : before.values,
    creation,
    version: nextVersion(expected?.version ?? version),
    undo: { version: found, restores: versionBefore && origin(id, versionBefore) },
  };
}

/**
 * The entries of a run, or of a plant in it, latest first: by their numbers, because the clock may
 * have been set back during the run.
 */
async function* editsOfRun(
  contract: Contract,
  sql: SqlConnection,
  { collection, run, id }: RunFilter,
): AsyncGenerator<readonly HistoryEntry[]> {
  let seqBefore: bigint | number | undefined = int64Max;
  const place = `run = $1 AND seq < $2${id === undefined ? "" : " AND plant_id = $3"}`;
  const own = isOfCollections(collection === undefined ? contract.collections : [collection]);
  do {
    const parameters = [run, seqBefore, ...(id === undefined ? [] : [String(id)])];
    const selection = `WHERE ${sql.inTime} AND ${own} AND ${place} ORDER BY seq DESC`;
    const page: HistoryPage = await readPage(contract, sql, selection, parameters, editsMax);
    yield page.entries;
    seqBefore = page.next?.seq;
  } while (seqBefore !== undefined);
}
