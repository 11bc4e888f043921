// Edits plants under one run, lists the history of edits, and undoes them.

import { parts } from "../base/parts.ts";
import {
  type Collection,
  type Contract,
  collectionOf,
  type Plant,
  valuesEqual,
} from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { int64Max } from "../json/int64.ts";
import type { PlantStore } from "../store/plant-store.ts";
import { type Creation, type EditOutcome, editsMax, type PlantEdit } from "../store/shared/plant-edit.ts";
import type { SqlConnection, SqlValue } from "../store/sql-connection.ts";
import { parseRecorded } from "./recorded-plant.ts";
import { findPlants } from "./stored-plants.ts";

/**
 * Who edits: an operator in the console, a command with the user of the operating system, or a
 * client with its token.
 */
export interface Editor {
  readonly by: "client" | "console" | "command";
  /** The name of the client's token, or its subject at the identity provider. */
  readonly token?: string;
  /** The address of the operator's browser. */
  readonly client?: string;
  readonly uid?: number;
  /** According to the environment, as is sudoUser. */
  readonly user?: string;
  /** The user who called sudo. */
  readonly sudoUser?: string;
}

/** 32 characters that people do not confuse. */
const runCharacters = "abcdefghijkmnpqrstuvwxyz23456789";

/**
 * The longest pause between two transactions. A server that waits for the lock of a SQLite file
 * looks for it every 50 to 100 ms: without pauses it waits for two seconds, and its creates get
 * 503.
 */
const pauseMsMax = 50;

/** Edits that the history shows, and undoes, together. */
export class EditRun {
  readonly id = newRunId();
  /** How many edits were made. */
  readonly made = { updated: 0, deleted: 0, restored: 0 };
  readonly #store: Pick<PlantStore, "edit">;
  readonly #editor: string;
  readonly #pause: ((ms: number) => Promise<void>) | undefined;
  /** How long the transaction before took. */
  #lastMs = 0;
  #next = 0;

  /** @param pause leaves the lock of a file to other processes for as long as it was held. */
  constructor(store: Pick<PlantStore, "edit">, editor: Editor, pause?: (ms: number) => Promise<void>) {
    this.#store = store;
    this.#editor = JSON.stringify(editor);
    this.#pause = pause;
  }

  /** Makes any number of edits, in transactions of at most editsMax. See PlantStore.edit. */
  async edit(
    { table }: Collection,
    edits: readonly PlantEdit[],
    editedAt = Date.now(),
  ): Promise<EditOutcome[]> {
    const outcomes: EditOutcome[] = [];
    for (const some of parts(edits, editsMax)) {
      const common = { table, run: this.id, editor: this.#editor, editedAt };
      const recorded = some.map((edit) => ({ ...common, edit, seq: this.#next++ }));
      if (this.#lastMs > 0) await this.#pause?.(Math.min(this.#lastMs, pauseMsMax));
      const startedAt = performance.now();
      const committed = await this.#store.edit(recorded);
      this.#lastMs = performance.now() - startedAt;
      for (const [index, edit] of some.entries()) if (committed[index] === "done") this.#count(edit);
      outcomes.push(...committed);
    }
    return outcomes;
  }

  #count({ expected, replacement }: PlantEdit): void {
    if (replacement === undefined) this.made.deleted++;
    else if (expected === undefined) this.made.restored++;
    else this.made.updated++;
  }
}

export type EditCounts = Readonly<EditRun["made"]>;

/** 50 random bits: a name that can be typed. */
function newRunId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return Array.from(bytes, (byte) => runCharacters[byte % runCharacters.length]).join("");
}

/** An edit in the history. */
export interface HistoryEntry {
  readonly run: string;
  /** The number of the edit in its run. */
  readonly seq: number;
  readonly collection: Collection;
  readonly id: PlantId;
  /** Milliseconds since the epoch. */
  readonly editedAt: number;
  readonly editor: Editor;
  /** Undefined for a plant that was restored. */
  readonly before: Plant | undefined;
  /** Undefined for a plant that was deleted. */
  readonly after: Plant | undefined;
  readonly creation: Creation;
}

/** The place of an entry in the history, from which a list continues. */
export type HistoryCursor = Pick<HistoryEntry, "editedAt" | "run" | "seq">;

/** Selects the entries to list; without a property all of them. */
export interface HistoryFilter {
  /** Undefined for all of the contract. */
  readonly collection?: Collection | undefined;
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
  readonly edited_at: bigint;
  readonly editor: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly created_at: bigint;
  readonly creator: bigint | null;
}

/** Lists a page of entries, the latest first. */
export function listEdits(
  contract: Contract,
  sql: SqlConnection,
  { collection, id, since, after }: HistoryFilter,
  entriesMax: number = editsMax,
): Promise<HistoryPage> {
  const parameters: SqlValue[] = [];
  const parameter = (value: SqlValue) => `$${parameters.push(value)}`;
  const conditions = [
    sql.inTime,
    isOfCollections(collection === undefined ? contract.collections : [collection]),
  ];
  if (id !== undefined) conditions.push(`plant_id = ${parameter(String(id))}`);
  if (since !== undefined) conditions.push(`edited_at >= ${parameter(BigInt(since))}`);
  if (after !== undefined) {
    const place = [after.editedAt, after.run, after.seq].map(parameter);
    conditions.push(`(edited_at, run, seq) < (${place.join(", ")})`);
  }
  const selection = `WHERE ${conditions.join(" AND ")} ORDER BY edited_at DESC, run DESC, seq DESC`;
  return readPage(contract, sql, selection, parameters, entriesMax);
}

/** Reads the first entries of a selection. */
async function readPage(
  contract: Contract,
  sql: SqlConnection,
  selection: string,
  parameters: readonly SqlValue[],
  entriesMax: number,
): Promise<HistoryPage> {
  const rows = await sql.query<EditRow>(
    `SELECT run, seq, collection, plant_id, edited_at, editor, before, after, created_at, creator
     FROM edits ${selection} LIMIT ${entriesMax + 1}`,
    parameters,
  );
  const entries = rows.slice(0, entriesMax).map((row) => toEntry(contract, row));
  return { entries, next: rows.length > entriesMax ? entries.at(-1) : undefined };
}

function toEntry(contract: Contract, row: EditRow): HistoryEntry {
  const collection = collectionOf(contract, row.collection);
  return {
    run: row.run,
    seq: Number(row.seq),
    collection,
    id: collection.id.type.fromColumn(row.plant_id),
    editedAt: Number(row.edited_at),
    editor: JSON.parse(row.editor) as Editor,
    before: toPlant(collection, row.before),
    after: toPlant(collection, row.after),
    creation: { createdAt: row.created_at, creator: row.creator },
  };
}

function toPlant(collection: Collection, json: string | null): Plant | undefined {
  if (json === null) return undefined;
  const plant = parseRecorded(collection, json);
  if ("code" in plant) throw new Error(`the history has a plant that is none: ${plant.message}`);
  return plant;
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
}

/**
 * Undoes the edits of a run, or of one plant in it, latest first. Plants that have changed since
 * the edit stay as they are.
 *
 * @param undo the run of the undo itself, which can also be undone.
 */
export async function undoRun(
  contract: Contract,
  undo: EditRun,
  sql: SqlConnection,
  filter: RunFilter,
): Promise<Undone> {
  /** Plants with an edit that was not undone, and whether they are as they were before it. */
  const others = new Map<PlantId, boolean>();
  let [found, undone] = [0, 0];
  for await (const entries of editsOfRun(contract, sql, filter)) {
    const [first] = entries;
    if (first === undefined) continue;
    found += entries.length;
    // A run edits one collection.
    const { collection } = first;
    const outcomes = await undo.edit(
      collection,
      entries.map(({ id, before, after: expected, creation }) => ({
        id,
        expected: expected?.values,
        replacement: before?.values,
        creation,
      })),
    );
    const ids = entries.flatMap(({ id }, index) => (outcomes[index] === "done" ? [] : [id]));
    undone += entries.length - ids.length;
    const stored = await findPlants(collection, sql, ids);
    // The entries come latest first, so the first edit of a plant decides.
    for (const [index, { id, before }] of entries.entries()) {
      if (outcomes[index] === "done") others.delete(id);
      else others.set(id, isSame(collection, stored.get(id), before));
    }
  }
  const left = [...others].flatMap(([id, isAsBefore]) => (isAsBefore ? [] : [id]));
  return { found, undone, unchanged: others.size - left.length, left };
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

function isSame(collection: Collection, one: Plant | undefined, other: Plant | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return valuesEqual(collection, one.values, other.values);
}
