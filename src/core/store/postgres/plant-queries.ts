// The queries of a search.

import { type PlantColumns, textFields } from "../../contract/plant.ts";
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
import { begin } from "./connection.ts";
import { DatabaseError } from "./driver.ts";
import type { Primary } from "./primary.ts";

interface Row extends PlantColumns {
  readonly id: string;
  readonly is_truncated: boolean;
  readonly position?: string;
  readonly sort_key?: string;
}

/** An entry of the index "newest" whose plant was deleted. */
interface DeletedRow {
  readonly id: null;
  readonly position: string;
}

type Value = string | number | bigint;

const summaryColumns = [
  "id",
  ...textFields.map((field) => `left(${field}, ${previewLength}) AS ${field}`),
  `${textFields.map((field) => `coalesce(length(${field}), 0) > ${previewLength}`).join(" OR ")} AS is_truncated`,
].join(", ");

const plantColumns = ["id", ...textFields].join(", ");

/** The expressions of the indexes, in the order of code points, whatever the database's collation; and the condition of the one on tags. */
const keys = {
  name: { key: `left(name, ${indexedCharacters}) COLLATE "C"`, condition: "" },
  tag: { key: `left(tag, ${indexedCharacters}) COLLATE "C"`, condition: "AND tag IS NOT NULL" },
} as const;

/** How long the index "text" may search for a text: longer if very many plants have each part of it. */
const textMsMax = 700;

const queryCanceled = "57014";

export class PostgresPlantQueries implements PlantQueries, CreationQueries {
  readonly #primary: Primary;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]> {
    return this.#all(`SELECT ${summaryColumns} FROM plants WHERE id = ANY ($1::int8[])`, [toArray(ids)]);
  }

  byId(from: bigint, isDescending: boolean, plantsMax: number): Promise<PlantAtCursor[]> {
    const { reached, direction } = sqlOf(isDescending);
    return this.#all(
      `SELECT ${summaryColumns} FROM plants WHERE id ${reached} $1 ORDER BY id ${direction} LIMIT $2`,
      [from, plantsMax],
    );
  }

  async byCreation(
    after: bigint | undefined,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<(PlantAtCursor | DeletedEntry)[]> {
    const { passed, direction } = sqlOf(isDescending);
    const rows = await this.#rows<Row | DeletedRow>(
      `SELECT position, ${summaryColumns} FROM (
         SELECT position, id AS arrived FROM plant_arrivals WHERE position ${passed} $1
         ORDER BY position ${direction} LIMIT $2
       ) AS arrivals LEFT JOIN plants ON plants.id = arrived ORDER BY position ${direction}`,
      [after ?? (isDescending ? 2n ** 63n - 1n : -1n), plantsMax],
    );
    return rows.map((row) =>
      row.id === null
        ? { cursor: { order: "created", number: BigInt(row.position) } }
        : toPlantAtCursor(row, "created"),
    );
  }

  byKey(
    column: "name" | "tag",
    { text, end }: Prefix,
    after: Cursor | undefined,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const { passed, direction } = sqlOf(isDescending);
    const { key, condition } = keys[column];
    const values: Value[] = [plantsMax];
    const conditions: string[] = [];
    if (after !== undefined) {
      const [afterKey, afterId] = [values.push(after.key ?? ""), values.push(after.number)];
      conditions.push(`(${key}, id) ${passed} ($${afterKey}, $${afterId}::int8)`);
    }
    if (after === undefined || isDescending) conditions.push(`${key} >= $${values.push(text)}`);
    if (end !== undefined) conditions.push(`${key} < $${values.push(end)}`);
    return this.#all(
      `SELECT ${key} AS sort_key, ${summaryColumns} FROM plants WHERE ${conditions.join(" AND ")} ${condition}
       ORDER BY ${key} ${direction}, id ${direction} LIMIT $1`,
      values,
      column,
    );
  }

  /**
   * All plants with the text by the index, and of these the first, as a GIN index finds all rows before they can be ordered: the planner would often scan the primary key instead, as it
   * does not know how few have it.
   */
  async byText(
    filter: SearchFilter & { readonly text: string },
    from: bigint,
    isDescending: boolean,
    plantsMax: number,
    isQuick: boolean,
  ): Promise<PlantAtCursor[] | undefined> {
    if (isQuick) return undefined;
    const { reached, direction } = sqlOf(isDescending);
    const values: Value[] = [from, plantsMax];
    const text = `WITH found AS MATERIALIZED (SELECT ${plantColumns} FROM plants WHERE ${filterSql(filter, values)})
                  SELECT ${summaryColumns} FROM found WHERE id ${reached} $1 ORDER BY id ${direction} LIMIT $2`;
    try {
      const rows = await this.#primary.onceOnConnection(async (connection) => {
        await begin(connection, "READ ONLY", { statementMs: textMsMax });
        await connection.query("SET LOCAL enable_seqscan = off");
        await connection.query("SET LOCAL enable_indexscan = off");
        const result = await connection.query<Row>(text, values.map(toParameter));
        await connection.query("COMMIT");
        return result.rows;
      });
      return rows.map((row) => toPlantAtCursor(row, "id"));
    } catch (error) {
      if (error instanceof DatabaseError && error.code === queryCanceled) return undefined;
      throw error;
    }
  }

  async idRangeEnd(
    from: bigint,
    isDescending: boolean,
    plants: number,
    tag: string | undefined,
  ): Promise<bigint | undefined> {
    const { reached, direction, last } = sqlOf(isDescending);
    // Ordered by the whole key, as the planner would otherwise sort all plants of the tag: 146 ms in ten million plants, for a
    // tag that each thousandth has.
    const [ofTag, order] =
      tag === undefined
        ? ["", ""]
        : [`${keys.tag.key} = $3 AND tag IS NOT NULL AND`, `${keys.tag.key} ${direction},`];
    const rows = await this.#rows<{ end: string | null }>(
      `SELECT ${last}(id) AS "end" FROM (
         SELECT id FROM plants WHERE ${ofTag} id ${reached} $1 ORDER BY ${order} id ${direction} LIMIT $2
       ) AS range`,
      [from, plants, ...(tag === undefined ? [] : [keyOf(tag)])],
    );
    const end = rows[0]?.end ?? undefined;
    return end === undefined ? undefined : BigInt(end);
  }

  inIdRange(
    filter: SearchFilter,
    { min, max, usesTagIndex }: IdRange,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    const { direction } = sqlOf(isDescending);
    const values: Value[] = [min, max, plantsMax];
    const matches = filterSql(filter, values);
    const range = `SELECT ${plantColumns} FROM plants WHERE id BETWEEN $1 AND $2`;
    const ofTag =
      usesTagIndex && filter.tag !== undefined
        ? `AND ${keys.tag.key} = $${values.push(keyOf(filter.tag))} AND tag IS NOT NULL
           ORDER BY ${keys.tag.key} ${direction}, id ${direction}`
        : `ORDER BY id ${direction}`;
    // The rows of the range in the order of its index, and then those that match: the planner, which expects few matches, would
    // otherwise choose another index.
    return this.#all(
      `SELECT ${summaryColumns} FROM (${range} ${ofTag} OFFSET 0) AS plants WHERE ${matches}
       ORDER BY id ${direction} LIMIT $3`,
      values,
    );
  }

  async creations(ids: readonly bigint[]): Promise<Creation[]> {
    const rows = await this.#rows<{ id: string; created_at: string | null; token: string | null }>(
      `SELECT plants.id, created_at, creators.name AS token FROM plants LEFT JOIN creators ON creators.id = creator
       WHERE plants.id = ANY ($1::int8[])`,
      [toArray(ids)],
    );
    return rows.map(({ id, created_at, token }) => ({
      id: BigInt(id),
      createdAt: toTime(created_at),
      token,
    }));
  }

  async entryFrom(number: bigint | undefined): Promise<CreationEntry | undefined> {
    const [where, direction] = number === undefined ? ["", "DESC"] : ["WHERE position >= $1", "ASC"];
    const rows = await this.#rows<{ position: string; created_at: string | null }>(
      `SELECT position, created_at FROM plant_arrivals ${where} ORDER BY position ${direction} LIMIT 1`,
      number === undefined ? [] : [number],
    );
    const [row] = rows;
    return row && { number: BigInt(row.position), createdAt: toTime(row.created_at) };
  }

  async countPart(afterId: bigint | undefined, plantsMax: number): Promise<CountedPart> {
    const rows = await this.#rows<{ tag: string | null; plants: string; last: string }>(
      `SELECT left(tag, ${indexedCharacters}) AS tag, count(*) AS plants, max(id) AS last
       FROM (SELECT id, tag FROM plants ${afterId === undefined ? "" : "WHERE id > $2"} ORDER BY id LIMIT $1) AS range
       GROUP BY 1`,
      [plantsMax, ...(afterId === undefined ? [] : [afterId])],
    );
    return toCountedPart(
      rows.map(({ tag, plants, last }) => ({ tag, plants: Number(plants), last: BigInt(last) })),
    );
  }

  async #all(sql: string, values: readonly Value[], order: Cursor["order"] = "id"): Promise<PlantAtCursor[]> {
    return (await this.#rows<Row>(sql, values)).map((row) => toPlantAtCursor(row, order));
  }

  async #rows<Shape extends object>(sql: string, values: readonly Value[]): Promise<Shape[]> {
    return (await this.#primary.once((pool) => pool.query<Shape>(sql, values.map(toParameter)))).rows;
  }
}

/** The operators and words of a direction. */
function sqlOf(isDescending: boolean) {
  return isDescending
    ? ({ passed: "<", reached: "<=", direction: "DESC", last: "min" } as const)
    : ({ passed: ">", reached: ">=", direction: "ASC", last: "max" } as const);
}

function toParameter(value: Value): string | number {
  return typeof value === "bigint" ? String(value) : value;
}

function toArray(ids: readonly bigint[]): string {
  return `{${ids.join(",")}}`;
}

function toTime(text: string | null): number | null {
  return text === null ? null : Number(text);
}

/** The key of a tag in its index. */
function keyOf(tag: string): string {
  return Array.from(tag).slice(0, indexedCharacters).join("");
}

function filterSql({ prefix, text, tag }: SearchFilter, values: Value[]): string {
  const conditions: string[] = [];
  if (tag !== undefined) conditions.push(`tag = $${values.push(tag)}`);
  if (text !== undefined) {
    const pattern = `$${values.push(`%${text.replaceAll(/[\\%_]/g, "\\$&")}%`)}`;
    conditions.push(`(name ILIKE ${pattern} OR tag ILIKE ${pattern})`);
  }
  if (prefix !== undefined) conditions.push(`name COLLATE "C" >= $${values.push(prefix.text)}`);
  if (prefix?.end !== undefined) conditions.push(`name COLLATE "C" < $${values.push(prefix.end)}`);
  return conditions.join(" AND ");
}

function toPlantAtCursor(
  { id, is_truncated, position, sort_key, ...columns }: Row,
  order: Cursor["order"],
): PlantAtCursor {
  const number = BigInt(position ?? id);
  const cursor: Cursor = sort_key === undefined ? { order, number } : { order, number, key: sort_key };
  return { ...columns, id: BigInt(id), isTruncated: is_truncated, cursor };
}
