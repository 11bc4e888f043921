// Commits batches to the tables of the collections of a SQLite file.

import type { Collection, Plant, PlantColumns } from "../../contract/contract.ts";
import { toColumns, toValues } from "../../contract/plant.ts";
import { type PlantId, randomId } from "../../contract/plant-id.ts";
import { type ColumnValue, isText } from "../../contract/stored-types.ts";
import { compareWithStored, type NewEntry, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { hasKeySql, keepsKeys, keyColumn } from "../shared/create-key.ts";
import type { Database } from "./driver.ts";
import { failureReason } from "./errors.ts";
import type { Transactions } from "./transactions.ts";

/** A long name: on a nearly full disk a short one may still fit. */
const probeText = "x".repeat(100);

export class SqlitePlants {
  readonly #transactions: Transactions;
  readonly #tables: ReadonlyMap<string, PlantTable>;
  readonly #onUnavailable: OnUnavailable;
  readonly #assertContract: () => void;

  /** @param assertContract called in each transaction of a batch, which fails with its error. */
  constructor(
    transactions: Transactions,
    collections: readonly Collection[],
    onUnavailable: OnUnavailable,
    assertContract = () => {},
  ) {
    this.#transactions = transactions;
    this.#assertContract = assertContract;
    this.#onUnavailable = onUnavailable;
    this.#tables = new Map(
      collections.map((collection) => [collection.table, new PlantTable(transactions.database, collection)]),
    );
  }

  /**
   * Commits a batch in one transaction; if that fails, all of it is unavailable. See
   * PlantStore.create. Throws SQLite's own error if an fsync has failed; the connection must not be
   * used afterwards.
   */
  create(batch: readonly NewEntry[], createdAt: number): Outcome[] {
    const time = BigInt(createdAt);
    try {
      return this.#transactions.run(() => {
        this.#assertContract();
        return batch.map((entry) => this.#tableOf(entry.collection).insert(entry, time));
      });
    } catch (error) {
      this.#onUnavailable(failureReason(error));
      return batch.map(() => "unavailable");
    }
  }

  /** Commits what a create writes, and leaves no plant behind. Throws SQLite's own error. */
  probe(): void {
    this.#transactions.run(() => this.#tables.values().next().value?.probe());
  }

  get(collection: Collection, id: PlantId): Plant | undefined {
    return this.#tableOf(collection).get(id);
  }

  #tableOf({ table: name }: Collection): PlantTable {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`The store has no table ${name}`);
    return table;
  }
}

class PlantTable {
  readonly #collection: Collection;
  readonly #keepsKeys: boolean;
  // Closing the database finalizes what `query` has prepared; another open statement would keep
  // SQLite from removing the WAL.
  readonly #insert;
  readonly #select;
  readonly #selectByKey;
  readonly #delete;

  constructor(database: Database, collection: Collection) {
    this.#collection = collection;
    const { table, fields } = collection;
    const columns = fields.map(({ column }) => `, ${column}`).join("");
    this.#keepsKeys = keepsKeys(collection);
    const key = this.#keepsKeys ? [`, ${keyColumn}`, ", ?", ""] : ["", "", "(id)"];
    this.#insert = database.query<never, [PlantId, bigint, number | null, ...ColumnValue[]]>(
      `INSERT INTO "${table}" (id, created_at, creator${columns}${key[0]})
       VALUES (?, ?, ?${", ?".repeat(fields.length)}${key[1]}) ON CONFLICT ${key[2]} DO NOTHING`,
    );
    this.#select = database.query<PlantColumns, [PlantId]>(
      `SELECT id${columns} FROM "${table}" WHERE id = ?`,
    );
    this.#selectByKey = (key: string) =>
      database
        .query<PlantColumns, [string]>(
          `SELECT id${columns} FROM "${table}" WHERE ${keyColumn} = ? AND ${hasKeySql}`,
        )
        .get(key);
    this.#delete = () => database.query<never, [PlantId]>(`DELETE FROM "${table}" WHERE id = ?`);
  }

  insert({ plant, creator, key, createdAt: own }: Omit<NewEntry, "collection">, common: bigint): Outcome {
    const createdAt = own === undefined ? common : BigInt(own);
    const values: (ColumnValue | null)[] = toColumns(this.#collection, plant.values);
    if (this.#keepsKeys) values.push(key ?? null);
    const { changes } = this.#insert.run(plant.id, createdAt, creator, ...values);
    if (Number(changes) === 1) return "created";
    if (key !== undefined) return this.#compareByKey(key, plant);
    const stored = this.get(plant.id);
    if (stored === undefined) throw new Error(`SQLite neither inserted nor found the plant ${plant.id}`);
    return compareWithStored(this.#collection, stored, plant);
  }

  /** The outcome of a plant whose id or key is stored. */
  #compareByKey(key: string | null, { id, values }: Plant): Outcome {
    const row = key === null ? null : this.#selectByKey(key);
    if (row === null) return "taken";
    const stored = { id, values: toValues(this.#collection, row) };
    return compareWithStored(this.#collection, stored, { id, values });
  }

  get(id: PlantId): Plant | undefined {
    const row = this.#select.get(id);
    return row === null ? undefined : { id, values: toValues(this.#collection, row) };
  }

  /** Inserts a plant, and deletes it. */
  probe(): void {
    const id = randomId(this.#collection.id);
    const values = this.#collection.fields.map(({ type, example }) => (isText(type) ? probeText : example));
    const outcome = this.insert({ plant: { id, values }, creator: null }, BigInt(Date.now()));
    // A plant may have this id by chance.
    if (outcome === "created") this.#delete().run(id);
  }
}
