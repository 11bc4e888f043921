// The queries of a search. Their promises are settled when they are returned: each query blocks its thread.

import type { NewPlant } from "../../contract/plant.ts";
import { type Cursor, indexedCharacters, previewLength } from "../plant-reader.ts";
import type { DeletedEntry, PlantAtCursor, PlantQueries, Prefix, SearchFilter } from "../plant-search.ts";
import type { Database } from "./driver.ts";
import { type PlantRow, toPlant } from "./plants.ts";

interface Row {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly name_length: bigint;
  readonly tag_length: bigint | null;
  readonly position?: bigint;
  readonly name_key?: string;
}

/** An entry of the index "newest" whose plant was deleted. */
interface DeletedRow {
  readonly id: null;
  readonly position: bigint;
}

type Value = bigint | string;

const summaryColumns = `id, substr(name, 1, ${previewLength}) AS name, substr(tag, 1, ${previewLength}) AS tag,
               length(name) AS name_length, length(tag) AS tag_length`;
const nameKey = `substr(name, 1, ${indexedCharacters})`;
const tagKey = `substr(tag, 1, ${indexedCharacters})`;

export class SqlitePlantQueries implements PlantQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]> {
    return ids.flatMap((id) => this.#all(`SELECT ${summaryColumns} FROM plants WHERE id = ?`, [id]));
  }

  async byId(idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#all(`SELECT ${summaryColumns} FROM plants WHERE id <= ? ORDER BY id DESC LIMIT ?`, [
      idMax,
      BigInt(plantsMax),
    ]);
  }

  async newest(before: bigint | undefined, plantsMax: number): Promise<(PlantAtCursor | DeletedEntry)[]> {
    const arrivals = this.#database.query<Row | DeletedRow, Value[]>(
      `SELECT position, ${summaryColumns} FROM (
         SELECT position, id AS arrived FROM plant_arrivals WHERE position < ? ORDER BY position DESC LIMIT ?
       ) LEFT JOIN plants ON plants.id = arrived ORDER BY position DESC`,
    );
    return arrivals
      .all(before ?? 2n ** 63n - 1n, BigInt(plantsMax))
      .map((row) => (row.id === null ? { cursor: { number: row.position } } : toPlantAtCursor(row)));
  }

  /** Two statements, as each is one range scan of the index: SQLite uses no expression index for a comparison of row values. */
  async byName(
    { text, end }: Prefix,
    after: Cursor | undefined,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const select = `SELECT ${nameKey} AS name_key, ${summaryColumns} FROM plants WHERE`;
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

  async byTag(tag: string, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#all(
      `SELECT ${summaryColumns} FROM plants
       WHERE ${tagKey} = substr(?1, 1, ${indexedCharacters}) AND tag = ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3`,
      [tag, idMax, BigInt(plantsMax)],
    );
  }

  async idRangeEnd(idMax: bigint, plants: number): Promise<bigint | undefined> {
    const ends = this.#database.query<{ end: bigint | null }, Value[]>(
      "SELECT min(id) AS end FROM (SELECT id FROM plants WHERE id <= ? ORDER BY id DESC LIMIT ?)",
    );
    return ends.get(idMax, BigInt(plants))?.end ?? undefined;
  }

  async inIdRange(
    filter: SearchFilter,
    idMin: bigint,
    idMax: bigint,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const [matches, values] = filterSql(filter);
    return this.#all(
      `SELECT ${summaryColumns} FROM plants WHERE id BETWEEN ? AND ? AND ${matches} ORDER BY id DESC LIMIT ?`,
      [idMin, idMax, ...values, BigInt(plantsMax)],
    );
  }

  /** One plant with its complete name and tag. */
  get(id: bigint): NewPlant | undefined {
    const plants = this.#database.query<PlantRow, [bigint]>("SELECT id, name, tag FROM plants WHERE id = ?");
    const row = plants.get(id);
    return row === null ? undefined : toPlant(row);
  }

  #all(sql: string, values: readonly Value[]): PlantAtCursor[] {
    return this.#database
      .query<Row, Value[]>(sql)
      .all(...values)
      .map(toPlantAtCursor);
  }
}

/** The unary plus keeps SQLite from using an index on name or tag that was just created: a range is read by its ids. */
function filterSql(filter: SearchFilter): [sql: string, values: Value[]] {
  if ("tag" in filter) return ["+tag = ?", [filter.tag]];
  const { text, end } = filter.prefix;
  return end === undefined ? ["+name >= ?", [text]] : ["+name >= ? AND +name < ?", [text, end]];
}

function toPlantAtCursor({ id, name, tag, name_length, tag_length, position, name_key }: Row): PlantAtCursor {
  const isTruncated = name_length > previewLength || (tag_length ?? 0n) > previewLength;
  const number = position ?? id;
  return {
    id,
    name,
    tag,
    isTruncated,
    cursor: name_key === undefined ? { number } : { number, key: name_key },
  };
}
