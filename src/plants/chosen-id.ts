// Chooses the ids of creates without one: another one while they are taken, and those that are left
// where the contract allows few.

import type { Collection } from "../contract/contract.ts";
import { type IdFormat, idRange, type PlantId } from "../contract/plant-id.ts";
import type { SqlConnection } from "../store/sql-connection.ts";
import { type CreateKey, randomBetween } from "./new-ids.ts";

/** Ids that are tried without a look at the store. */
const triesMax = 20;

/** Ids that are tried in all: others may take those that were found to be free. */
const takenIdsMax = 1_000;

/** The ids of one create. */
export class ChosenId {
  readonly #format: IdFormat;
  readonly #key: CreateKey | undefined;
  readonly #newId: () => PlantId;
  #tried = 0;

  /**
   * @param key undefined where each create is a new plant.
   * @param newId makes the ids then.
   */
  constructor({ id }: Pick<Collection, "id">, key: CreateKey | undefined, newId: () => PlantId) {
    this.#format = id.format as IdFormat;
    this.#key = key;
    this.#newId = newId;
  }

  /** See NewEntry. */
  get key(): string | null {
    return this.#key?.text ?? null;
  }

  first(): PlantId {
    const tried = this.#tried++;
    return this.#key?.id(this.#format, tried) ?? this.#newId();
  }

  /**
   * Resolves with the next id, as those before are taken; with undefined if none is left. Rejects as
   * the store does.
   *
   * @param freeIds undefined where the contract allows more ids than there are plants.
   */
  async another(freeIds: FreeIds | undefined): Promise<PlantId | undefined> {
    if (this.#tried >= takenIdsMax) return undefined;
    if (this.#tried < triesMax || freeIds === undefined) return this.first();
    this.#tried++;
    return await freeIds.next();
  }
}

/** Ids of a page that is read. */
const pageIds = 1_000;

/** Pages that are read in search of a free id: a million ids. */
const pagesMax = 1_000;

/** The free ids of a collection with few ids. */
export class FreeIds {
  readonly #collection: Collection;
  readonly #sql: Pick<SqlConnection, "query">;
  readonly #range: readonly [least: bigint, greatest: bigint];
  readonly #onNoneLeft: () => void;
  #found: bigint[] = [];
  #search: Promise<void> | undefined;
  #isNoneLeft = false;

  /** @param onNoneLeft called when the ids have run out. */
  constructor(
    collection: Collection,
    sql: Pick<SqlConnection, "query">,
    range: readonly [least: bigint, greatest: bigint],
    onNoneLeft: () => void,
  ) {
    this.#collection = collection;
    this.#sql = sql;
    this.#range = range;
    this.#onNoneLeft = onNoneLeft;
  }

  /** Resolves with an id that was free a moment ago; with undefined if none was. */
  async next(): Promise<bigint | undefined> {
    do {
      const found = this.#found.pop();
      if (found !== undefined) return found;
      this.#search ??= this.#find().finally(() => {
        this.#search = undefined;
      });
      await this.#search;
    } while (!this.#isNoneLeft);
    return undefined;
  }

  /** Searches from a random id on, so that servers find different ones. */
  async #find(): Promise<void> {
    const [least, greatest] = this.#range;
    const start = randomBetween(least, greatest);
    for (const [from, to] of [
      [start, greatest],
      [least, start - 1n],
    ] as const) {
      let next = from;
      for (let page = 0; page < pagesMax && next <= to && this.#found.length === 0; page++)
        next = await this.#findInPage(next, to);
    }
    const isNoneLeft = this.#found.length === 0;
    if (isNoneLeft && !this.#isNoneLeft) this.#onNoneLeft();
    this.#isNoneLeft = isNoneLeft;
  }

  /** Returns the id from which the search continues. */
  async #findInPage(from: bigint, to: bigint): Promise<bigint> {
    const rows = await this.#sql.query<{ id: bigint }>(
      `SELECT id FROM "${this.#collection.table}" WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT ${pageIds}`,
      [from, to],
    );
    const last = rows.length < pageIds ? to : (rows.at(-1)?.id ?? to);
    const taken = new Set(rows.map(({ id }) => id));
    for (let id = from; id <= last && this.#found.length < pageIds; id++)
      if (!taken.has(id)) this.#found.push(id);
    return last + 1n;
  }
}

/** Finds the free ids of a collection; undefined where it allows more ids than there are plants. */
export function freeIdsOf(
  collection: Collection,
  sql: Pick<SqlConnection, "query">,
  onNoneLeft: () => void,
): FreeIds | undefined {
  const { format } = collection.id;
  const range = format === undefined ? undefined : idRange(format);
  return range && new FreeIds(collection, sql, range, onNoneLeft);
}
