// The queries of a search. Their promises are settled when they are returned: each query blocks its thread.

import { type NewPlant, type PlantColumns, textFields, toNewPlant } from "../../contract/plant.ts";
import {
  type CountedPart,
  type Creation,
  type Cursor,
  indexedCharacters,
  previewLength,
} from "../plant-reader.ts";
import {
  type CreationEntry,
  type CreationQueries,
  type DeletedEntry,
  type IdRange,
  type PlantAtCursor,
  type PlantQueries,
  type Prefix,
  type SearchFilter,
  toCountedPart,
} from "../plant-search.ts";
import type { Database } from "./driver.ts";
import { type PlantRow, plantColumns } from "./plants.ts";
import {
  foldedSql,
  isAscii,
  pagesMax,
  phrase,
  planRareParts,
  planWholeText,
  quickPagesMax,
} from "./text-match.ts";

interface Row extends PlantColumns {
  readonly id: bigint;
  /** 0 or 1. */
  readonly is_truncated: bigint;
  readonly position?: bigint;
  readonly sort_key?: string;
}

/** An entry of the index "newest" whose plant was deleted. */
interface DeletedRow {
  readonly id: null;
  readonly position: bigint;
}

type Value = bigint | string;

const summaryColumns = [
  "plants.id",
  ...textFields.map((field) => `substr(plants.${field}, 1, ${previewLength}) AS ${field}`),
  `(${textFields.map((field) => `coalesce(length(plants.${field}), 0) > ${previewLength}`).join(" OR ")}) AS is_truncated`,
].join(", ");

/** The expressions of the indexes, and the condition of the one on tags. */
const keys = {
  name: { key: `substr(name, 1, ${indexedCharacters})`, condition: "" },
  tag: { key: `substr(tag, 1, ${indexedCharacters})`, condition: "AND tag IS NOT NULL" },
} as const;

export class SqlitePlantQueries implements PlantQueries, CreationQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]> {
    return ids.flatMap((id) => this.#all(`SELECT ${summaryColumns} FROM plants WHERE id = ?`, [id]));
  }

  async byId(from: bigint, isDescending: boolean, plantsMax: number): Promise<PlantAtCursor[]> {
    const { reached, direction } = sqlOf(isDescending);
    return this.#all(
      `SELECT ${summaryColumns} FROM plants WHERE id ${reached} ? ORDER BY id ${direction} LIMIT ?`,
      [from, BigInt(plantsMax)],
    );
  }

  async byCreation(
    after: bigint | undefined,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<(PlantAtCursor | DeletedEntry)[]> {
    const { passed, direction } = sqlOf(isDescending);
    const arrivals = this.#database.query<Row | DeletedRow, Value[]>(
      `SELECT position, ${summaryColumns} FROM (
         SELECT position, id AS arrived FROM plant_arrivals WHERE position ${passed} ? ORDER BY position ${direction} LIMIT ?
       ) LEFT JOIN plants ON plants.id = arrived ORDER BY position ${direction}`,
    );
    const start = after ?? (isDescending ? 2n ** 63n - 1n : -(2n ** 63n));
    return arrivals
      .all(start, BigInt(plantsMax))
      .map((row) =>
        row.id === null
          ? { cursor: { order: "created", number: row.position } }
          : toPlantAtCursor(row, "created"),
      );
  }

  /** Two statements, as each is one range scan of the index: SQLite uses no expression index for a comparison of row values. */
  async byKey(
    column: "name" | "tag",
    { text, end }: Prefix,
    after: Cursor | undefined,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const { passed, direction } = sqlOf(isDescending);
    const { key, condition } = keys[column];
    const select = `SELECT ${key} AS sort_key, ${summaryColumns} FROM plants WHERE`;
    const order = `${condition} ORDER BY ${key} ${direction}, id ${direction} LIMIT ?`;
    const limit = (found: readonly PlantAtCursor[]) => BigInt(plantsMax - found.length);
    const sameKey =
      after === undefined
        ? []
        : this.#all(
            `${select} ${key} = ? AND id ${passed} ? ${order}`,
            [after.key ?? "", after.number, limit([])],
            column,
          );
    const [first, last] = isDescending ? [undefined, after?.key] : [after?.key, undefined];
    const bounds: [sql: string, value: string | undefined][] = [
      [`${key} ${first === undefined ? ">=" : ">"} ?`, first ?? text],
      [`${key} < ?`, last ?? end],
    ];
    const given = bounds.filter(([, value]) => value !== undefined);
    const rest = this.#all(
      `${select} ${given.map(([sql]) => sql).join(" AND ")} ${order}`,
      [...given.map(([, value]) => value ?? ""), limit(sameKey)],
      column,
    );
    return [...sameKey, ...rest];
  }

  async byText(
    { text, tag }: SearchFilter & { readonly text: string },
    from: bigint,
    isDescending: boolean,
    plantsMax: number,
    isQuick: boolean,
  ): Promise<PlantAtCursor[] | undefined> {
    const match = isQuick
      ? planRareParts(this.#database, text, tag, quickPagesMax)
      : planWholeText(this.#database, text, pagesMax);
    if (match === undefined) return undefined;
    const { reached, direction } = sqlOf(isDescending);
    const [matches, values] = filterSql({ text, ...(tag !== undefined && { tag }) }, undefined);
    return this.#all(
      `SELECT ${summaryColumns} FROM plants_text CROSS JOIN plants ON plants.id = plants_text.rowid
       WHERE plants_text MATCH ? AND plants_text.rowid ${reached} ? AND ${matches}
       ORDER BY plants_text.rowid ${direction} LIMIT ?`,
      [match, from, ...values, BigInt(plantsMax)],
    );
  }

  async idRangeEnd(
    from: bigint,
    isDescending: boolean,
    plants: number,
    tag: string | undefined,
  ): Promise<bigint | undefined> {
    const { reached, direction, last } = sqlOf(isDescending);
    const ofTag =
      tag === undefined
        ? ""
        : `${keys.tag.key} = substr(?3, 1, ${indexedCharacters}) AND tag IS NOT NULL AND`;
    const ends = this.#database.query<{ end: bigint | null }, Value[]>(
      `SELECT ${last}(id) AS end
       FROM (SELECT id FROM plants WHERE ${ofTag} id ${reached} ?1 ORDER BY id ${direction} LIMIT ?2)`,
    );
    return ends.get(from, BigInt(plants), ...(tag === undefined ? [] : [tag]))?.end ?? undefined;
  }

  async inIdRange(
    filter: SearchFilter,
    range: IdRange,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const { min, max } = range;
    const [matches, values] = filterSql(filter, range);
    return this.#all(
      `SELECT ${summaryColumns} FROM plants WHERE id BETWEEN ? AND ? AND ${matches}
       ORDER BY id ${sqlOf(isDescending).direction} LIMIT ?`,
      [min, max, ...values, BigInt(plantsMax)],
    );
  }

  /** One plant with its complete texts. */
  get(id: bigint): NewPlant | undefined {
    const plants = this.#database.query<PlantRow, [bigint]>(
      `SELECT ${plantColumns} FROM plants WHERE id = ?`,
    );
    const row = plants.get(id);
    return row === null ? undefined : toNewPlant(row.id, row);
  }

  creations(ids: readonly bigint[]): Creation[] {
    const arrivals = this.#database.query<{ created_at: bigint | null; token: string | null }, [bigint]>(
      `SELECT created_at, creators.name AS token FROM plants LEFT JOIN creators ON creators.id = creator
       WHERE plants.id = ?`,
    );
    return ids.flatMap((id) => {
      const row = arrivals.get(id);
      if (row === null) return [];
      return [{ id, createdAt: row.created_at === null ? null : Number(row.created_at), token: row.token }];
    });
  }

  async entryFrom(number: bigint | undefined): Promise<CreationEntry | undefined> {
    const [where, direction] = number === undefined ? ["", "DESC"] : ["WHERE position >= ?", "ASC"];
    const entries = this.#database.query<{ position: bigint; created_at: bigint | null }, bigint[]>(
      `SELECT position, created_at FROM plant_arrivals ${where} ORDER BY position ${direction} LIMIT 1`,
    );
    const row = entries.get(...(number === undefined ? [] : [number]));
    if (row === null) return undefined;
    return { number: row.position, createdAt: row.created_at === null ? null : Number(row.created_at) };
  }

  countPart(afterId: bigint | undefined, plantsMax: number): CountedPart {
    const groups = this.#database.query<{ tag: string | null; plants: bigint; last: bigint }, bigint[]>(
      `SELECT ${keys.tag.key} AS tag, count(*) AS plants, max(id) AS last
       FROM (SELECT id, tag FROM plants ${afterId === undefined ? "" : "WHERE id > ?"} ORDER BY id LIMIT ?) GROUP BY 1`,
    );
    const rows = groups.all(...(afterId === undefined ? [] : [afterId]), BigInt(plantsMax));
    return toCountedPart(rows.map(({ tag, plants, last }) => ({ tag, plants: Number(plants), last })));
  }

  #all(sql: string, values: readonly Value[], order: Cursor["order"] = "id"): PlantAtCursor[] {
    return this.#database
      .query<Row, Value[]>(sql)
      .all(...values)
      .map((row) => toPlantAtCursor(row, order));
  }
}

/** The operators and words of a direction. */
function sqlOf(isDescending: boolean) {
  return isDescending
    ? ({ passed: "<", reached: "<=", direction: "DESC", last: "min" } as const)
    : ({ passed: ">", reached: ">=", direction: "ASC", last: "max" } as const);
}

/**
 * The condition that a plant matches a filter. The unary plus keeps SQLite from using an index that was just created: a range is
 * read by its ids.
 *
 * @param range undefined if the plants are found by the index "text" already.
 */
function filterSql(
  { prefix, text, tag }: SearchFilter,
  range: IdRange | undefined,
): [sql: string, values: Value[]] {
  const conditions: [sql: string, ...values: Value[]][] = [];
  if (range?.usesTagIndex && tag !== undefined)
    conditions.push([`${keys.tag.key} = substr(?, 1, ${indexedCharacters}) AND tag IS NOT NULL`, tag]);
  if (tag !== undefined) conditions.push(["+plants.tag = ?", tag]);
  if (text !== undefined) conditions.push(textSql(text, range));
  if (prefix !== undefined) conditions.push(["+name >= ?", prefix.text]);
  if (prefix?.end !== undefined) conditions.push(["+name < ?", prefix.end]);
  return [conditions.map(([sql]) => sql).join(" AND "), conditions.flatMap(([, ...values]) => values)];
}

/** The condition that the name or the tag has a text, as FTS5 would find it. */
function textSql(text: string, range: IdRange | undefined): [sql: string, ...values: Value[]] {
  if (isAscii(text)) {
    const pattern = `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
    const matches = (column: string) => `${foldedSql(column, text)} LIKE ? ESCAPE '\\'`;
    return [`(${matches("plants.name")} OR ${matches("plants.tag")})`, pattern, pattern];
  }
  // FTS5 folds the case of other characters, which LIKE does not. Without a range the index has compared the whole text.
  if (range === undefined) return ["true"];
  return [
    "plants.id IN (SELECT rowid FROM plants_text WHERE plants_text MATCH ? AND rowid BETWEEN ? AND ?)",
    ...[phrase(text), range.min, range.max],
  ];
}

function toPlantAtCursor(
  { id, is_truncated, position, sort_key, ...columns }: Row,
  order: Cursor["order"],
): PlantAtCursor {
  const number = position ?? id;
  return {
    ...columns,
    id,
    isTruncated: is_truncated === 1n,
    cursor: sort_key === undefined ? { order, number } : { order, number, key: sort_key },
  };
}
