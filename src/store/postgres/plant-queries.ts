// What a search reads of the plants table.

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
import { indexStates } from "./indexes.ts";
import type { Primary } from "./primary.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
  readonly is_cut: boolean;
  readonly position?: string;
  readonly name_key?: string;
}

/** Of a plant that is deleted. */
interface Arrival {
  readonly id: null;
  readonly position: string;
}

type Value = string | number | bigint;

const shown = `id, left(name, ${previewLength}) AS name, left(tag, ${previewLength}) AS tag,
               length(name) > ${previewLength} OR coalesce(length(tag), 0) > ${previewLength} AS is_cut`;
// By code points, whatever the database's collation.
const nameKey = `left(name, ${indexedCharacters}) COLLATE "C"`;
const tagKey = `left(tag, ${indexedCharacters}) COLLATE "C"`;

export class PostgresPlantQueries implements PlantQueries {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  states(): Promise<IndexStates> {
    return this.#primary.once(indexStates);
  }

  fromId(idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#all(`SELECT ${shown} FROM plants WHERE id <= $1 ORDER BY id DESC LIMIT $2`, [
      idMax,
      plantsMax,
    ]);
  }

  async newest(before: bigint | undefined, plantsMax: number): Promise<(PlantAtCursor | DeletedEntry)[]> {
    const rows = await this.#rows<Row | Arrival>(
      `SELECT position, ${shown} FROM (
         SELECT position, id AS arrived FROM plant_arrivals WHERE position < $1 ORDER BY position DESC LIMIT $2
       ) AS arrivals LEFT JOIN plants ON plants.id = arrived ORDER BY position DESC`,
      [before ?? 2n ** 63n - 1n, plantsMax],
    );
    return rows.map((row) => (row.id === null ? { place: { number: BigInt(row.position) } } : placed(row)));
  }

  named({ text, end }: Prefix, after: Cursor | undefined, plantsMax: number): Promise<PlantAtCursor[]> {
    const values: Value[] = [plantsMax, ...(after === undefined ? [text] : [after.key ?? "", after.number])];
    const from = after === undefined ? `${nameKey} >= $2` : `(${nameKey}, id) > ($2, $3::int8)`;
    const upTo = end === undefined ? "" : `AND ${nameKey} < $${values.push(end)}`;
    return this.#all(
      `SELECT ${nameKey} AS name_key, ${shown} FROM plants WHERE ${from} ${upTo} ORDER BY ${nameKey}, id LIMIT $1`,
      values,
    );
  }

  tagged(tag: string, idMax: bigint, plantsMax: number): Promise<PlantAtCursor[]> {
    const key = Array.from(tag).slice(0, indexedCharacters);
    // A shorter key is the whole tag. To compare the tag as well would have the planner believe in fewer rows by far, and sort
    // all that there are: 146 ms of ten million plants, for a tag that each thousandth has.
    const isWhole = key.length < indexedCharacters;
    return this.#all(
      `SELECT ${shown} FROM plants
       WHERE ${tagKey} = $1 AND id <= $2 ${isWhole ? "" : "AND tag = $4"} ORDER BY ${tagKey} DESC, id DESC LIMIT $3`,
      [key.join(""), idMax, plantsMax, ...(isWhole ? [] : [tag])],
    );
  }

  async endOfStretch(idMax: bigint, plants: number): Promise<bigint | undefined> {
    const { rows } = await this.#primary.once((pool) =>
      pool.query<{ end: string | null }>(
        'SELECT min(id) AS "end" FROM (SELECT id FROM plants WHERE id <= $1 ORDER BY id DESC LIMIT $2) AS stretch',
        [String(idMax), plants],
      ),
    );
    const end = rows[0]?.end ?? undefined;
    return end === undefined ? undefined : BigInt(end);
  }

  matching(
    condition: SearchFilter,
    idMin: bigint,
    idMax: bigint,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const values: Value[] = [idMin, idMax, plantsMax];
    return this.#all(
      `SELECT ${shown} FROM plants WHERE id BETWEEN $1 AND $2 AND ${conditionSql(condition, values)}
       ORDER BY id DESC LIMIT $3`,
      values,
    );
  }

  /** Not part of a search. */
  async withIds(ids: readonly bigint[]): Promise<PlantSummary[]> {
    const texts = ids.map(String);
    const plants = await this.#all(`SELECT ${shown} FROM plants WHERE id = ANY ($1::int8[])`, [
      `{${texts.join(",")}}`,
    ]);
    const byId = new Map(plants.map((plant) => [plant.id, withoutPlace(plant)]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  async #all(sql: string, values: readonly Value[]): Promise<PlantAtCursor[]> {
    return (await this.#rows<Row>(sql, values)).map(placed);
  }

  async #rows<Shape extends object>(sql: string, values: readonly Value[]): Promise<Shape[]> {
    const texts = values.map((value) => (typeof value === "bigint" ? String(value) : value));
    return (await this.#primary.once((pool) => pool.query<Shape>(sql, texts))).rows;
  }
}

function conditionSql(condition: SearchFilter, values: Value[]): string {
  if ("tag" in condition) return `tag = $${values.push(condition.tag)}`;
  const { text, end } = condition.prefix;
  const from = `name COLLATE "C" >= $${values.push(text)}`;
  return end === undefined ? from : `${from} AND name COLLATE "C" < $${values.push(end)}`;
}

function placed({ id, name, tag, is_cut, position, name_key }: Row): PlantAtCursor {
  const number = BigInt(position ?? id);
  const place: Cursor = name_key === undefined ? { number } : { number, key: name_key };
  return { id: BigInt(id), name, tag, isTruncated: is_cut, place };
}
