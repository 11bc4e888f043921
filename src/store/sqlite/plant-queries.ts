// What a search reads of the plants table. Methods are promises by their type alone: each blocks its thread.

import type { NewPlant } from "../../contract/plant.ts";
import {
  type Cursor,
  type IndexStates,
  indexedCharacters,
  type PlantSummary,
  previewLength,
} from "../plant-reader.ts";
import {
  type DeletedEntry,
  type PlantAtCursor,
  type PlantQueries,
  type Prefix,
  type SearchFilter,
  withoutPlace,
} from "../plant-search.ts";
import type { Database } from "./driver.ts";
import { indexStates } from "./indexes.ts";
import { type PlantRow, plantFrom } from "./plants.ts";

interface Row {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly name_length: bigint;
  readonly tag_length: bigint | null;
  readonly position?: bigint;
  readonly name_key?: string;
}

/** Of a plant that is deleted. */
interface Arrival {
  readonly id: null;
  readonly position: bigint;
}

type Value = bigint | string;

const shown = `id, substr(name, 1, ${previewLength}) AS name, substr(tag, 1, ${previewLength}) AS tag,
               length(name) AS name_length, length(tag) AS tag_length`;
const nameKey = `substr(name, 1, ${indexedCharacters})`;
const tagKey = `substr(tag, 1, ${indexedCharacters})`;

export class SqlitePlantQueries implements PlantQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async states(): Promise<IndexStates> {
    return indexStates(this.#database);
  }

  async fromId(idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#all(`SELECT ${shown} FROM plants WHERE id <= ? ORDER BY id DESC LIMIT ?`, [
      idMax,
      BigInt(plantsMax),
    ]);
  }

  async newest(before: bigint | undefined, plantsMax: number): Promise<(PlantAtCursor | DeletedEntry)[]> {
    const arrivals = this.#database.query<Row | Arrival, Value[]>(
      `SELECT position, ${shown} FROM (
         SELECT position, id AS arrived FROM plant_arrivals WHERE position < ? ORDER BY position DESC LIMIT ?
       ) LEFT JOIN plants ON plants.id = arrived ORDER BY position DESC`,
    );
    return arrivals
      .all(before ?? 2n ** 63n - 1n, BigInt(plantsMax))
      .map((row) => (row.id === null ? { place: { number: row.position } } : placed(row)));
  }

  /** Two statements, as each of them is a single stretch of the index: a comparison of rows with an expression is none. */
  async named({ text, end }: Prefix, after: Cursor | undefined, plantsMax: number): Promise<PlantAtCursor[]> {
    const select = `SELECT ${nameKey} AS name_key, ${shown} FROM plants WHERE`;
    const order = `ORDER BY ${nameKey}, id LIMIT ?`;
    const sameKey =
      after === undefined
        ? []
        : this.#all(`${select} ${nameKey} = ? AND id > ? ${order}`, [
            after.key ?? "",
            after.number,
            BigInt(plantsMax),
          ]);
    const [from, operator] = after === undefined ? [text, ">="] : [after.key ?? "", ">"];
    const upTo = end === undefined ? [] : [end];
    const rest = this.#all(
      `${select} ${nameKey} ${operator} ? ${end === undefined ? "" : `AND ${nameKey} < ?`} ${order}`,
      [from, ...upTo, BigInt(plantsMax - sameKey.length)],
    );
    return [...sameKey, ...rest];
  }

  async tagged(tag: string, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#all(
      `SELECT ${shown} FROM plants
       WHERE ${tagKey} = substr(?1, 1, ${indexedCharacters}) AND tag = ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3`,
      [tag, idMax, BigInt(plantsMax)],
    );
  }

  async endOfStretch(idMax: bigint, plants: number): Promise<bigint | undefined> {
    const ends = this.#database.query<{ end: bigint | null }, Value[]>(
      "SELECT min(id) AS end FROM (SELECT id FROM plants WHERE id <= ? ORDER BY id DESC LIMIT ?)",
    );
    return ends.get(idMax, BigInt(plants))?.end ?? undefined;
  }

  async matching(
    condition: SearchFilter,
    idMin: bigint,
    idMax: bigint,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const [matches, values] = conditionSql(condition);
    return this.#all(
      `SELECT ${shown} FROM plants WHERE id BETWEEN ? AND ? AND ${matches} ORDER BY id DESC LIMIT ?`,
      [idMin, idMax, ...values, BigInt(plantsMax)],
    );
  }

  /** Not part of a search. */
  withIds(ids: readonly bigint[]): PlantSummary[] {
    return ids.flatMap((id) => this.#all(`SELECT ${shown} FROM plants WHERE id = ?`, [id]).map(withoutPlace));
  }

  /** The same of one plant, whole. */
  get(id: bigint): NewPlant | undefined {
    const plants = this.#database.query<PlantRow, [bigint]>("SELECT id, name, tag FROM plants WHERE id = ?");
    const row = plants.get(id);
    return row === null ? undefined : plantFrom(row);
  }

  #all(sql: string, values: readonly Value[]): PlantAtCursor[] {
    return this.#database
      .query<Row, Value[]>(sql)
      .all(...values)
      .map(placed);
  }
}

/** The unary plus keeps SQLite from an index that was made meanwhile: a stretch is read by its ids. */
function conditionSql(condition: SearchFilter): [sql: string, values: Value[]] {
  if ("tag" in condition) return ["+tag = ?", [condition.tag]];
  const { text, end } = condition.prefix;
  return end === undefined ? ["+name >= ?", [text]] : ["+name >= ? AND +name < ?", [text, end]];
}

function placed({ id, name, tag, name_length, tag_length, position, name_key }: Row): PlantAtCursor {
  const isTruncated = name_length > previewLength || (tag_length ?? 0n) > previewLength;
  const number = position ?? id;
  return {
    id,
    name,
    tag,
    isTruncated,
    place: name_key === undefined ? { number } : { number, key: name_key },
  };
}
