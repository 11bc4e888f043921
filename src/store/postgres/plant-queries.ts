// The queries of a search.

import { type Cursor, indexedCharacters, previewLength } from "../plant-reader.ts";
import type { DeletedEntry, PlantAtCursor, PlantQueries, Prefix, SearchFilter } from "../plant-search.ts";
import type { Primary } from "./primary.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
  readonly is_truncated: boolean;
  readonly position?: string;
  readonly name_key?: string;
}

/** An entry of the index "newest" whose plant was deleted. */
interface DeletedRow {
  readonly id: null;
  readonly position: string;
}

type Value = string | number | bigint;

const summaryColumns = `id, left(name, ${previewLength}) AS name, left(tag, ${previewLength}) AS tag,
               length(name) > ${previewLength} OR coalesce(length(tag), 0) > ${previewLength} AS is_truncated`;
// In the order of code points, whatever the database's collation.
const nameKey = `left(name, ${indexedCharacters}) COLLATE "C"`;
const tagKey = `left(tag, ${indexedCharacters}) COLLATE "C"`;

export class PostgresPlantQueries implements PlantQueries {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]> {
    const array = `{${ids.join(",")}}`;
    return this.#all(`SELECT ${summaryColumns} FROM plants WHERE id = ANY ($1::int8[])`, [array]);
  }

  byId(idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#all(`SELECT ${summaryColumns} FROM plants WHERE id <= $1 ORDER BY id DESC LIMIT $2`, [
      idMax,
      plantsMax,
    ]);
  }

  async newest(before: bigint | undefined, plantsMax: number): Promise<(PlantAtCursor | DeletedEntry)[]> {
    const rows = await this.#rows<Row | DeletedRow>(
      `SELECT position, ${summaryColumns} FROM (
         SELECT position, id AS arrived FROM plant_arrivals WHERE position < $1 ORDER BY position DESC LIMIT $2
       ) AS arrivals LEFT JOIN plants ON plants.id = arrived ORDER BY position DESC`,
      [before ?? 2n ** 63n - 1n, plantsMax],
    );
    return rows.map((row) =>
      row.id === null ? { cursor: { number: BigInt(row.position) } } : toPlantAtCursor(row),
    );
  }

  byName({ text, end }: Prefix, after: Cursor | undefined, plantsMax: number): Promise<PlantAtCursor[]> {
    const values: Value[] = [plantsMax, ...(after === undefined ? [text] : [after.key ?? "", after.number])];
    const from = after === undefined ? `${nameKey} >= $2` : `(${nameKey}, id) > ($2, $3::int8)`;
    const upTo = end === undefined ? "" : `AND ${nameKey} < $${values.push(end)}`;
    return this.#all(
      `SELECT ${nameKey} AS name_key, ${summaryColumns} FROM plants WHERE ${from} ${upTo} ORDER BY ${nameKey}, id LIMIT $1`,
      values,
    );
  }

  byTag(tag: string, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    const key = Array.from(tag).slice(0, indexedCharacters);
    // A shorter key is the whole tag. A second condition on the tag would make the planner expect far fewer rows, and sort all
    // that there are: 146 ms in ten million plants, for a tag that each thousandth has.
    const isWhole = key.length < indexedCharacters;
    return this.#all(
      `SELECT ${summaryColumns} FROM plants
       WHERE ${tagKey} = $1 AND id <= $2 ${isWhole ? "" : "AND tag = $4"} ORDER BY ${tagKey} DESC, id DESC LIMIT $3`,
      [key.join(""), idMax, plantsMax, ...(isWhole ? [] : [tag])],
    );
  }

  async idRangeEnd(idMax: bigint, plants: number): Promise<bigint | undefined> {
    const { rows } = await this.#primary.once((pool) =>
      pool.query<{ end: string | null }>(
        'SELECT min(id) AS "end" FROM (SELECT id FROM plants WHERE id <= $1 ORDER BY id DESC LIMIT $2) AS range',
        [String(idMax), plants],
      ),
    );
    const end = rows[0]?.end ?? undefined;
    return end === undefined ? undefined : BigInt(end);
  }

  inIdRange(filter: SearchFilter, idMin: bigint, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    const values: Value[] = [idMin, idMax, plantsMax];
    return this.#all(
      `SELECT ${summaryColumns} FROM plants WHERE id BETWEEN $1 AND $2 AND ${filterSql(filter, values)}
       ORDER BY id DESC LIMIT $3`,
      values,
    );
  }

  async #all(sql: string, values: readonly Value[]): Promise<PlantAtCursor[]> {
    return (await this.#rows<Row>(sql, values)).map(toPlantAtCursor);
  }

  async #rows<Shape extends object>(sql: string, values: readonly Value[]): Promise<Shape[]> {
    const texts = values.map((value) => (typeof value === "bigint" ? String(value) : value));
    return (await this.#primary.once((pool) => pool.query<Shape>(sql, texts))).rows;
  }
}

function filterSql(filter: SearchFilter, values: Value[]): string {
  if ("tag" in filter) return `tag = $${values.push(filter.tag)}`;
  const { text, end } = filter.prefix;
  const from = `name COLLATE "C" >= $${values.push(text)}`;
  return end === undefined ? from : `${from} AND name COLLATE "C" < $${values.push(end)}`;
}

function toPlantAtCursor({ id, name, tag, is_truncated, position, name_key }: Row): PlantAtCursor {
  const number = BigInt(position ?? id);
  const cursor: Cursor = name_key === undefined ? { number } : { number, key: name_key };
  return { id: BigInt(id), name, tag, isTruncated: is_truncated, cursor };
}
