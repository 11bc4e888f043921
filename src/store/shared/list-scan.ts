// Finds the plants of a list in its order, in statements that each take some milliseconds: a list whose
// time is up says how far it came, and nobody waits for one that finds nothing.

import type { Collection } from "../../contract/contract.ts";
import type { OrderTerm } from "../../contract/list-order.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { SqlConnection, SqlValue } from "../sql-connection.ts";
import { type Condition, conditionSql, isByIndex, isInIdOrder } from "./conditions.ts";
import { isIndexed } from "./list-indexes.ts";
import {
  type Bind,
  type OrderPart,
  type OrderPlace,
  type PageOrder,
  pageOrder,
  placeIn,
} from "./page-order.ts";
import { withRepeated } from "./plant-rows.ts";
import type { SqlWork } from "./sql-work.ts";

/** The plants of a list: plain data. */
export interface ListQuery {
  /** The name of the collection's table. */
  readonly table: string;
  readonly conditions: readonly Condition[];
  /** None for the order of the ids. */
  readonly terms: readonly OrderTerm[];
  /** The place after which the list begins. */
  readonly after: OrderPlace | undefined;
  /** The plants that are left out then. */
  readonly offset: number;
}

/** The part that is left of a list whose time was up. */
export type ListRest = Pick<ListQuery, "after" | "offset">;

/** How many plants are read, and sorted, at once. */
interface ScanSizes {
  /** Plants of the first stretch; the next ones have more. */
  readonly stretch: number;
  /** Plants of one condition that are sorted at once, after the first stretch; more after the next ones. */
  readonly few: number;
}

const usualSizes: ScanSizes = { stretch: 500, few: 1_000 };
const growth = 8;
const stretchMax = 500_000;
const stretchMs = 20;
const fewMax = 400_000;

/** A row with the columns of the order, and others. */
type Row<Columns> = Columns & { readonly id: PlantId };

interface Found<Columns> {
  readonly rows: readonly Row<Columns>[];
  readonly rest: ListRest | undefined;
}

export class ListScan {
  readonly #collection: Collection;
  readonly #list: ListQuery;
  readonly #dialect: SqlConnection["dialect"];
  readonly #order: PageOrder;
  /** Conditions that lead to the plants in their order. */
  readonly #leading: readonly Condition[];
  /** Conditions that are checked on the way. */
  readonly #checked: readonly Condition[];
  /** Precedes the conditions of a statement that may read all plants. */
  readonly #inTime: string | undefined;
  readonly #sizes: ScanSizes;

  constructor(
    collection: Collection,
    list: ListQuery,
    { dialect, inTime }: Pick<SqlConnection, "dialect" | "inTime">,
    sizes = usualSizes,
  ) {
    const { conditions, terms } = list;
    const [first] = terms;
    this.#collection = collection;
    this.#list = list;
    this.#dialect = dialect;
    this.#order = pageOrder(collection, terms, dialect);
    const isSortedAtOnce = first !== undefined && !isIndexed(collection, first.key);
    const inIdOrder = conditions.find((each) => isByIndex(collection, each) && isInIdOrder(each));
    this.#leading = isSortedAtOnce ? conditions : first || !inIdOrder ? [] : [inIdOrder];
    this.#checked = conditions.filter((each) => !this.#leading.includes(each));
    this.#inTime = isSortedAtOnce ? inTime : undefined;
    this.#sizes = sizes;
  }

  /**
   * Finds plants, with some columns besides those of the order.
   *
   * @param deadline when to stop, by performance.now.
   */
  *find<Columns extends object>(columns: string, rowsMax: number, deadline: number): SqlWork<Found<Columns>> {
    const selected = `${this.#order.columns}, ${columns}`;
    if (this.#checked.length > 0) return yield* this.#findOnTheWay(selected, rowsMax, deadline);
    const { after, offset } = this.#list;
    const parts = this.#order.parts.filter((part) => part.isAfter(after));
    const rows: Row<Columns>[] = [];
    let skipped = offset;
    for (const part of parts) {
      rows.push(
        ...(yield* this.#query<Row<Columns>>(
          (bind) =>
            `SELECT ${selected} ${this.#from(bind, part.between(bind, after))} ORDER BY ${part.by} LIMIT ${rowsMax - rows.length} OFFSET ${skipped}`,
        )),
      );
      if (rows.length >= rowsMax) break;
      // One that was read comes after all that are left out, whatever is deleted meanwhile.
      if (rows.length > 0) skipped = 0;
      else if (skipped > 0 && part !== parts.at(-1))
        skipped -= Math.min(
          skipped,
          yield* this.#count((bind) => this.#from(bind, part.between(bind, after))),
        );
    }
    return { rows, rest: undefined };
  }

  /** Reads plants by their ids, of which there is at least one, those that still fit. */
  *read<Found extends object>(columns: string, ids: readonly PlantId[]): SqlWork<readonly Found[]> {
    const wanted = withRepeated(ids);
    return yield* this.#query<Found>((bind) => {
      const fit = this.#sqlOf(bind, this.#list.conditions, false);
      return `SELECT ${columns} FROM ${this.#table} WHERE id IN (${wanted.map(bind).join(", ")}) AND ${fit}`;
    }, true);
  }

  /** Counts plants. See `find`. */
  *count(deadline: number): SqlWork<{ readonly count: number; readonly rest: ListRest | undefined }> {
    const [only, ...others] = this.#checked;
    if (only === undefined || (others.length === 0 && isByIndex(this.#collection, only)))
      return {
        count: yield* this.#count((bind) => this.#from(bind, this.#sqlOf(bind, this.#checked))),
        rest: undefined,
      };
    const all = this.#list.offset;
    const { rest, left } = yield* this.#findOnTheWay("1", 1, deadline);
    return { count: all - left, rest };
  }

  /** Checks one stretch of the order after the other, until few plants are left that fit a condition. */
  *#findOnTheWay<Columns extends object>(
    selected: string,
    rowsMax: number,
    deadline: number,
  ): SqlWork<Found<Columns> & { readonly left: number }> {
    const rows: Row<Columns>[] = [];
    let { after, offset: left } = this.#list;
    let { stretch, few } = this.#sizes;
    for (const part of this.#order.parts) {
      while (part.isAfter(after)) {
        const startedAt = performance.now();
        const from = after;
        const upTo = yield* this.#endOf(part, from, stretch);
        const range = (bind: Bind) =>
          this.#from(bind, part.between(bind, from, upTo), this.#sqlOf(bind, this.#checked, false));
        // Plants that are left out need only be counted.
        if (left >= stretch) left -= Math.min(left, yield* this.#count(range));
        else {
          const limit = rowsMax - rows.length + left;
          const found = yield* this.#query<Row<Columns>>(
            (bind) => `SELECT ${selected} ${range(bind)} ORDER BY ${part.by} LIMIT ${limit}`,
          );
          rows.push(...found.slice(left));
          left -= Math.min(left, found.length);
          if (rows.length >= rowsMax) return { rows, left, rest: undefined };
        }
        if (upTo === undefined) break;
        after = upTo;
        const now = performance.now();
        if (now > deadline) return { rows, left, rest: { after, offset: left } };
        const rare = yield* this.#rareCondition(few);
        if (rare !== undefined) {
          const rest = yield* this.#findFew<Columns>(
            rare,
            selected,
            { after, offset: left },
            rowsMax - rows.length,
          );
          return { rows: [...rows, ...rest.rows], left: rest.left, rest: undefined };
        }
        few = Math.min(few * growth, fewMax);
        const perMs = stretch / Math.max(now - startedAt, 0.1);
        stretch = Math.ceil(Math.min(stretch * growth, perMs * stretchMs, stretchMax));
      }
    }
    return { rows, left, rest: undefined };
  }

  /** The place where a stretch ends; undefined if the part has fewer plants. */
  *#endOf(part: OrderPart, after: OrderPlace | undefined, stretch: number): SqlWork<OrderPlace | undefined> {
    const [end] = yield* this.#query<Row<object>>(
      (bind) =>
        `SELECT ${this.#order.columns} ${this.#from(bind, part.between(bind, after))} ORDER BY ${part.by} LIMIT 1 OFFSET ${stretch - 1}`,
    );
    return end && placeIn(end);
  }

  /** A condition that fewer plants fit. */
  *#rareCondition(few: number): SqlWork<Condition | undefined> {
    for (const each of this.#checked) {
      if (!isByIndex(this.#collection, each)) continue;
      const rows = yield* this.#count(
        (bind) =>
          `FROM (SELECT 1 FROM ${this.#table} WHERE ${this.#sqlOf(bind, [each])} LIMIT ${few}) AS part`,
      );
      if (rows < few) return each;
    }
    return undefined;
  }

  /** Sorts the plants that fit a condition, after a place. */
  *#findFew<Columns extends object>(
    rare: Condition,
    selected: string,
    { after, offset }: ListRest,
    rowsMax: number,
  ): SqlWork<{ readonly rows: readonly Row<Columns>[]; readonly left: number }> {
    const rows: Row<Columns>[] = [];
    let left = offset;
    const others = [...this.#leading, ...this.#checked].filter((each) => each !== rare);
    for (const part of this.#order.parts.filter((each) => each.isAfter(after))) {
      const few = (bind: Bind) =>
        `WITH few AS MATERIALIZED (SELECT id AS "x few" FROM ${this.#table} WHERE ${this.#sqlOf(bind, [rare])})`;
      // The order of this join is that of its tables, on SQLite.
      const from = (bind: Bind) =>
        `FROM few CROSS JOIN ${this.#table} WHERE id = "x few" AND ${part.between(bind, after)} AND ${this.#sqlOf(bind, others, false)}`;
      const limit = rowsMax - rows.length + left;
      if (left >= fewMax) left -= yield* this.#count(from, few);
      else {
        const found = yield* this.#query<Row<Columns>>(
          (bind) => `${few(bind)} SELECT ${selected} ${from(bind)} ORDER BY ${part.by} LIMIT ${limit}`,
        );
        rows.push(...found.slice(left));
        left -= Math.min(left, found.length);
      }
      if (rows.length >= rowsMax) break;
    }
    return { rows, left };
  }

  get #table(): string {
    return `"${this.#collection.table}"`;
  }

  #sqlOf(bind: Bind, some: readonly Condition[], usesIndex = true): string {
    const all = some.map((each) => conditionSql(this.#collection, each, this.#dialect, bind, usesIndex));
    return all.length === 0 ? "true" : all.join(" AND ");
  }

  /** The plants of some conditions, and of those that lead to them. */
  #from(bind: Bind, ...conditions: readonly string[]): string {
    const leading = this.#leading.length === 0 ? [] : [this.#sqlOf(bind, this.#leading)];
    const all = [this.#inTime, ...leading, ...conditions].filter(
      (each) => each !== undefined && each !== "true",
    );
    return `FROM ${this.#table}${all.length === 0 ? "" : ` WHERE ${all.join(" AND ")}`}`;
  }

  *#query<Found extends object>(
    write: (bind: Bind) => string,
    isPrepared = false,
  ): SqlWork<readonly Found[]> {
    const parameters: SqlValue[] = [];
    const sql = write((value) => `$${parameters.push(value)}`);
    const [rows] = yield [{ sql, parameters, isPrepared }];
    return rows as readonly Found[];
  }

  *#count(from: (bind: Bind) => string, before: (bind: Bind) => string = () => ""): SqlWork<number> {
    const [row] = yield* this.#query<{ rows: bigint | number }>(
      (bind) => `${before(bind)} SELECT count(*) AS rows ${from(bind)}`,
    );
    return Number(row?.rows);
  }
}
