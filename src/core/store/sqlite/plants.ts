// The plants table: commits batches.

import {
  type Collection,
  type Plant,
  type PlantColumns,
  sampleValues,
  withValue,
} from "../../contract/contract.ts";
import { toColumns, toValues } from "../../contract/plant.ts";
import { type PlantId, randomId } from "../../contract/plant-id.ts";
import type { ColumnValue } from "../../contract/values/stored-types.ts";
import { compareWithStored, type NewEntry, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { failureReason } from "./errors.ts";
import type { Transactions } from "./transactions.ts";

/** A long name: on a nearly full disk a short one may still fit. */
const probeText = "x".repeat(100);

export class SqlitePlants {
  readonly #transactions: Transactions;
  readonly #collection: Collection;
  readonly #onUnavailable: OnUnavailable;
  // Closing the database finalizes what `query` has prepared; another open statement would keep
  // SQLite from removing the WAL.
  readonly #insert;
  readonly #select;

  constructor(transactions: Transactions, collection: Collection, onUnavailable: OnUnavailable) {
    const { database } = transactions;
    this.#transactions = transactions;
    this.#collection = collection;
    const columns = collection.fields.map(({ column }) => `, ${column}`).join("");
    this.#onUnavailable = onUnavailable;
    this.#insert = database.query<never, [PlantId, bigint, number | null, ...ColumnValue[]]>(
      `INSERT INTO plants (id, created_at, creator${columns})
       VALUES (?, ?, ?${", ?".repeat(collection.fields.length)}) ON CONFLICT (id) DO NOTHING`,
    );
    this.#select = database.query<PlantColumns, [PlantId]>(`SELECT id${columns} FROM plants WHERE id = ?`);
  }

  /**
   * Commits a batch in one transaction; if that fails, all of it is unavailable. See
   * PlantStore.create. Throws SQLite's own error if an fsync has failed; the connection must not be
   * used afterwards.
   */
  create(batch: readonly NewEntry[], createdAt: number): Outcome[] {
    const time = BigInt(createdAt);
    try {
      return this.#transactions.run(() => batch.map((entry) => this.#insertOne(entry, time)));
    } catch (error) {
      this.#onUnavailable(failureReason(error));
      return batch.map(() => "unavailable");
    }
  }

  /** Commits what a create writes, and leaves no plant behind. Throws SQLite's own error. */
  probe(): void {
    const id = randomId(this.#collection.id);
    this.#transactions.run(() => {
      const outcome = this.#insertOne(
        { plant: { id, values: this.#probeValues() }, creator: null },
        BigInt(Date.now()),
      );
      // A plant may have this id by chance.
      if (outcome === "created") this.#transactions.database.run("DELETE FROM plants WHERE id = ?", [id]);
    });
  }

  get(id: PlantId): Plant | undefined {
    const row = this.#select.get(id);
    return row === null ? undefined : { id, values: toValues(this.#collection, row) };
  }

  #probeValues() {
    const values = sampleValues(this.#collection);
    const { titleField } = this.#collection;
    return titleField === undefined ? values : withValue(this.#collection, values, titleField, probeText);
  }

  #insertOne({ plant, creator }: NewEntry, createdAt: bigint): Outcome {
    const { changes } = this.#insert.run(
      plant.id,
      createdAt,
      creator,
      ...toColumns(this.#collection, plant.values),
    );
    if (Number(changes) === 1) return "created";
    const stored = this.get(plant.id);
    if (stored === undefined) throw new Error(`SQLite neither inserted nor found the plant ${plant.id}`);
    return compareWithStored(this.#collection, stored, plant);
  }
}
