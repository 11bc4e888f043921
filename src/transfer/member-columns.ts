// The columns of CSV for the members of objects, such as address.city, on the way in and out.

import type { Field } from "../contract/contract.ts";
import type { FieldValue } from "../contract/stored-types.ts";
import { isOnly, memberSchema, valueOfText } from "../described/sent-values.ts";
import { parseExactJson, toExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { propertiesOf } from "../openapi/schema/restrictions.ts";

type Cells = readonly (string | undefined)[];

/** The names that lead to a member below its field. */
type MemberPath = readonly string[];

export interface MemberColumn {
  readonly index: number;
  readonly path: MemberPath;
}

/** An export writes a field of more members, or of deeper ones, as JSON. */
const membersMax = 50;
const depthMax = 3;

/** The members of a field that have columns in an export; none for a field that is no object. */
export function memberPaths({ type, schema }: Field): readonly MemberPath[] {
  const paths = type.input === "json" && isOnly(schema, "object") ? pathsIn(schema, depthMax) : [];
  return paths.length > membersMax ? [] : paths;
}

function pathsIn(schema: Json, depth: number): MemberPath[] {
  return Object.keys(propertiesOf(schema)).flatMap((name) => {
    const own = memberSchema(schema, name);
    const below = depth > 1 && isOnly(own, "object") ? pathsIn(own, depth - 1) : [];
    return below.length === 0 ? [[name]] : below.map((path) => [name, ...path]);
  });
}

/**
 * The cells of an object: of its members, or of its own column, as JSON, where the members would be
 * read as another object.
 */
export function memberCells(
  field: Field,
  paths: readonly MemberPath[],
  value: FieldValue | undefined,
): Cells {
  const none = paths.map(() => undefined);
  if (value === undefined) return [...none, undefined];
  const json = field.type.format(value);
  const object = parseExactJson(json);
  const cells = paths.map((path) => {
    const member = path.reduce(
      (at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      object,
    );
    if (member === undefined || typeof member === "string") return member;
    return toExactJson(member);
  });
  const columns = paths.map((path, index) => ({ index, path }));
  return objectText(field, columns, cells) === json ? [...cells, undefined] : [...none, json];
}

/** The columns of members, by the indexes of their fields. */
export function memberColumns(fields: readonly Field[], header: Cells): Map<number, MemberColumn[]> {
  const found = new Map<number, MemberColumn[]>();
  for (const [index, field] of fields.entries()) {
    if (field.type.input !== "json") continue;
    const members = header.flatMap((cell = "", at) => {
      const name = cell.trim();
      const path = name.slice(field.name.length + 1).split(".");
      const isMember = name.startsWith(`${field.name}.`) && path.every((each) => each !== "");
      return isMember ? [{ index: at, path }] : [];
    });
    if (members.length > 0) found.set(index, members);
  }
  return found;
}

/** The JSON of an object whose members have columns; undefined if all of their cells are empty. */
export function objectText(
  { schema }: Field,
  members: readonly MemberColumn[],
  cells: Cells,
): string | undefined {
  const object: Record<string, unknown> = {};
  for (const { index, path } of members) {
    const cell = cells[index];
    if (cell === undefined) continue;
    let [parent, own] = [object, schema];
    for (const name of path.slice(0, -1)) {
      parent[name] ??= {};
      parent = parent[name] as Record<string, unknown>;
      own = memberSchema(own, name);
    }
    const name = path.at(-1) as string;
    const type = memberSchema(own, name);
    parent[name] = valueOfText(isOnly(type, "boolean") ? booleanText(cell) : cell, type);
  }
  return Object.keys(object).length === 0 ? undefined : toExactJson(object);
}

/** The ways in which spreadsheets and databases write booleans, in lower case. */
const booleans = new Map([
  ...["true", "yes", "1"].map((text) => [text, "true"] as const),
  ...["false", "no", "0"].map((text) => [text, "false"] as const),
]);

/** The text of a boolean as JSON has it; any other text as it is. */
export function booleanText(cell: string): string {
  return booleans.get(cell.trim().toLowerCase()) ?? cell;
}
