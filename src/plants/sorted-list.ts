// Reads the order of a list from its parameters, and writes and reads the cursors of sorted pages.

import { ApiError } from "../base/errors.ts";
import type { Collection } from "../contract/contract.ts";
import { isDescending, type ListSort, type OrderTerm, parseOrder } from "../contract/list-order.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { isStorable } from "../contract/stored-types.ts";
import type { ReadConnection } from "../store/shared/page.ts";
import { type OrderPlace, orderColumns, orderKeys, placeIn } from "../store/shared/page-order.ts";
import type { SqlValue } from "../store/sql-connection.ts";
import { optional, type Parameter, type Parameters, plantId, required } from "./parameters.ts";

/** The parameters that say the order. */
export function sortParameters({ list: { sort } }: Collection): Parameters {
  if (sort === undefined) return {};
  const { name, keys, values, direction, isRequired } = sort;
  const names = [...keys.keys()].slice(0, 20).join(", ");
  const parameter: Parameter<string> = {
    description: `The properties to sort by, such as \`name\`, \`-name\` or \`name:desc\`: ${names}. What has no value comes last.`,
    schema: { type: "string" },
    expected:
      values === undefined
        ? `properties to sort by (${names}), such as "${[...keys.keys()][0]}" or "-${[...keys.keys()][0]}"`
        : `one of ${values.join(", ")}`,
    isRepeatable: true,
    parse(...texts) {
      const text = texts.join();
      return isServed(sort, text) || sort.refused.includes(text) ? text : undefined;
    },
  };
  const directed: Parameter<string> = {
    description: "The direction of the order.",
    schema: { type: "string" },
    expected: '"asc" or "desc"',
    isRepeatable: true,
    parse(...texts) {
      const text = texts.join();
      return text.split(",").every((each) => isDescending(each) !== undefined) ? text : undefined;
    },
  };
  return {
    [name]: isRequired ? required(parameter) : optional(parameter),
    ...(direction !== undefined && { [direction]: optional(directed) }),
  };
}

/** Whether a list is sorted by a value of the parameter. */
function isServed({ keys, values }: ListSort, text: string): boolean {
  return parseOrder(text, keys) !== undefined && (values?.includes(text) ?? true);
}

/** The order that was asked for; none for that of the ids. */
export function orderOf(
  { list: { sort } }: Collection,
  sent: Readonly<Record<string, unknown>>,
): readonly OrderTerm[] | ApiError {
  if (sort === undefined) return [];
  const text = (sent[sort.name] as string | undefined) ?? sort.default;
  const direction = sort.direction === undefined ? undefined : sent[sort.direction];
  if (text !== undefined && sort.refused.includes(text))
    return new ApiError(
      "notImplemented",
      `The order "${text}" is described, but not served; leave out the parameter "${sort.name}".`,
    );
  const terms = parseOrder(
    text ?? "id",
    sort.keys,
    (direction as string | undefined) ?? sort.defaultDirection,
  );
  const [only, ...others] = terms ?? [];
  return only?.key === "id" && others.length === 0 && !only.isDescending ? [] : (terms ?? []);
}

/** No id that is an integer begins with it. */
const cursorPrefix = "~";

/** Longer values are not in a cursor, which is part of a URL: it is an id then. */
const cursorTextMax = 1_000;

/** The cursor of the page after a place in an order. */
export function toCursor(
  collection: Collection,
  terms: readonly OrderTerm[],
  { values, id }: OrderPlace,
): string {
  const texts = values.map((value) => (value === null ? null : String(value)));
  const json = JSON.stringify([signature(collection, terms), texts, String(id)]);
  return json.length > cursorTextMax ? String(id) : cursorPrefix + Buffer.from(json).toString("base64url");
}

/** With the names of properties: a later contract may have others. */
function signature({ fields }: Collection, terms: readonly OrderTerm[]): string {
  const nameOf = ({ key }: OrderTerm) => (typeof key === "number" ? fields[key]?.name : `/${key}`);
  return JSON.stringify(terms.map((term) => [nameOf(term), term.isDescending]));
}

/** The text of a cursor; undefined for another text, and where no list is sorted. */
export function parseCursor({ list: { sort } }: Collection, text: string): string | undefined {
  return sort !== undefined && readCursor(text) !== undefined ? text : undefined;
}

/** The place in an order of a cursor, or of an id, whose plant is read. */
export async function placeOf(
  collection: Collection,
  terms: readonly OrderTerm[],
  start: PlantId,
  read: Pick<ReadConnection, "dialect" | "query">,
): Promise<OrderPlace | ApiError> {
  const keys = orderKeys(collection, terms, read.dialect);
  const cursor = readCursor(String(start));
  if (cursor === undefined) {
    if (terms.length === 0) return { id: start, values: [] };
    const columns = orderColumns(keys);
    const [row] = await read.query<{ id: PlantId }>(
      `SELECT ${columns} FROM "${collection.table}" WHERE id = $1`,
      [start],
    );
    if (row !== undefined) return placeIn(row);
  } else if (cursor.order === signature(collection, terms)) {
    // Somebody may have altered it.
    const id = isStorable(cursor.id) ? plantId(collection, "").parse(cursor.id) : undefined;
    const values = keys.map(({ parse }, index) => parsed(cursor.texts[index], parse));
    if (id !== undefined && values.every((value) => value !== undefined)) return { id, values };
  }
  return new ApiError(
    "invalidParameter",
    `The parameter "${collection.list.pagingName}" must be the cursor of a page in this order; begin again without it.`,
  );
}

/** A value of a cursor; undefined if it cannot be one. */
function parsed(text: unknown, parse: (text: string) => SqlValue | undefined): SqlValue | undefined {
  return typeof text === "string" ? parse(text) : text === null ? null : undefined;
}

function readCursor(cursor: string) {
  if (!cursor.startsWith(cursorPrefix)) return undefined;
  try {
    const json: unknown = JSON.parse(Buffer.from(cursor.slice(1), "base64url").toString());
    const [order, texts, id] = json as [unknown, readonly unknown[], unknown];
    return { order, texts: [...texts], id: String(id) };
  } catch {
    return undefined;
  }
}
