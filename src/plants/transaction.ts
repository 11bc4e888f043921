// One run of a transaction: remembers what it reads, collects what it changes, and commits both.

import type { Caller } from "../auth/caller.ts";
import { type Collection, isSamePlant, type Plant } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { OperationStore } from "../store/operation-store.ts";
import type { EditOutcome } from "../store/shared/plant-edit.ts";
import { nextVersion, type StoredPlant, versionColumn, versionSql } from "../store/shared/plant-rows.ts";
import { digestOf, type RecordedRead, readMsMax } from "../store/shared/transaction.ts";
import type { SqlStatement } from "../store/sql-connection.ts";
import { clientEditor } from "./edit-one.ts";
import { EditRun } from "./edit-run.ts";

interface Change {
  readonly collection: Collection;
  readonly id: PlantId;
  /** The resource before the transaction; undefined if there was none. */
  readonly before: StoredPlant | undefined;
  readonly after: Plant | undefined;
  /** See nextVersion. */
  readonly version: bigint;
}

export class Transaction {
  readonly #store: OperationStore;
  /** The time of its changes, in milliseconds since the epoch. */
  readonly #time = Date.now();
  readonly #reads: RecordedRead[] = [];
  /** The resources that were read or created, by their tables and ids. */
  readonly #found = new Map<string, StoredPlant | undefined>();
  readonly #changes = new Map<string, Change>();
  #isEnded = false;

  constructor(store: OperationStore) {
    this.#store = store;
  }

  /** Reads a resource as the transaction has left it. */
  async read(collection: Collection, id: PlantId): Promise<StoredPlant | undefined> {
    this.#assertOpen();
    const key = keyOf(collection, id);
    const change = this.#changes.get(key);
    if (change !== undefined) return change.after && this.#toStored(change, change.after);
    if (this.#found.has(key)) return this.#found.get(key);
    const stored = await this.#store.get(collection, id);
    const sql = `SELECT ${versionSql} AS ${versionColumn} FROM "${collection.table}" WHERE id = $1`;
    const found = digestOf(stored === undefined ? [] : [{ [versionColumn]: stored.version }]);
    this.#reads.push({ sql, parameters: [id], found, resource: { table: collection.table, id } });
    this.#found.set(key, stored);
    return stored;
  }

  /** Runs SQL that reads what is stored, for which nothing may have been changed. */
  async query<Row extends object>(statement: SqlStatement): Promise<Row[]> {
    this.#assertOpen();
    if (this.#changes.size > 0)
      throw new Error(
        "A transaction lists and queries before it changes anything: it would not find its changes",
      );
    const { read } = this.#store;
    const msMax = read.dialect === "sqlite" ? readMsMax : undefined;
    const rows = await read.query<Row>(statement.sql, statement.parameters, msMax);
    this.#reads.push({ ...statement, found: digestOf(rows), resource: undefined });
    return rows;
  }

  /** Stores a resource, or deletes it. */
  set(
    collection: Collection,
    id: PlantId,
    before: StoredPlant | undefined,
    after: Plant | undefined,
  ): StoredPlant | undefined {
    this.#assertOpen();
    const key = keyOf(collection, id);
    const earlier = this.#changes.get(key);
    const first = earlier === undefined ? before : earlier.before;
    const version = nextVersion(earlier?.version ?? first?.version, this.#time);
    const change = { collection, id, before: first, after, version };
    this.#changes.set(key, change);
    return after && this.#toStored(change, after);
  }

  /** Forgets its changes. */
  undo(): void {
    this.#changes.clear();
  }

  get creates(): boolean {
    return this.#effective().some(({ before }) => before === undefined);
  }

  /** Commits it for a caller: `changed` if something was no longer as it was found. */
  async commit(caller: Caller): Promise<EditOutcome> {
    this.#isEnded = true;
    const changes = this.#effective();
    // One read is as it was at its time.
    if (changes.length === 0 && this.#reads.length < 2) return "done";
    const run = new EditRun(this.#store, clientEditor(caller));
    const edits = changes.map(({ collection, id, before, after, version }) => {
      const creation = before ?? { createdAt: this.#time, creator: caller.creator ?? null };
      const edit = { id, expected: before, replacement: after?.values, creation, version };
      return run.record(collection, edit, this.#time);
    });
    return await this.#store.transact({ reads: this.#reads, edits });
  }

  #effective(): Change[] {
    return [...this.#changes.values()].filter(
      ({ collection, before, after }) => !isSamePlant(collection, before, after),
    );
  }

  #toStored({ collection, before, version }: Change, after: Plant): StoredPlant {
    if (before !== undefined && isSamePlant(collection, before, after)) return before;
    return { createdAt: this.#time, creator: null, ...before, ...after, version };
  }

  #assertOpen(): void {
    if (this.#isEnded) throw new Error("The transaction has ended; await each of its calls");
  }
}

function keyOf({ table }: Collection, id: PlantId): string {
  return `${table} ${id}`;
}
