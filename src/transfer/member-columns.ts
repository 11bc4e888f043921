// The columns of CSV for the members of objects, such as address.city, on the way in and out.

import type { Field } from "../contract/contract.ts";
import type { FieldValue } from "../contract/stored-types.ts";
import { isOnly, memberSchema, valueOfText } from "../described/sent-values.ts";
import { parseExactJson, toExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { propertiesOf } from "../openapi/schema/restrictions.ts";
import { nestingMax } from "../openapi/schema/values.ts";

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
  return paths.length <= membersMax && paths.flat().every(isReadAsIs) ? paths : [];
}

/** Whether a name in that of a column is read as it is. */
function isReadAsIs(name: string): boolean {
  return name !== "" && name === name.trim() && !name.includes(".");
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

/** The columns of members, by the indexes of their fields: of two, a.b.c is of the one that is named a.b. */
export function memberColumns(fields: readonly Field[], header: Cells): Map<number, MemberColumn[]> {
  const found = new Map<number, MemberColumn[]>();
  for (const [index, cell = ""] of header.entries()) {
    const name = cell.trim();
    const [field] = fields
      .filter((each) => each.type.input === "json" && name.startsWith(`${each.name}.`))
      .toSorted((one, other) => other.name.length - one.name.length);
    if (field === undefined) continue;
    const path = name.slice(field.name.length + 1).split(".");
    const at = fields.indexOf(field);
    if (path.length > nestingMax || path.includes("")) continue;
    const columns = found.get(at) ?? [];
    columns.push({ index, path });
    found.set(at, columns);
  }
  return found;
}

type Branch = Map<string, Branch>;

/** The first column of a field with a value that an earlier one has too, whole or in part. */
export function columnGivenTwice(columns: readonly MemberColumn[]): MemberColumn | undefined {
  const root: Branch = new Map();
  return columns.find(({ path }) => {
    let [branch, isNew] = [root, false];
    for (const name of path) {
      const next: Branch = branch.get(name) ?? new Map();
      // An earlier column ends here.
      if (!isNew && branch.has(name) && next.size === 0) return true;
      isNew ||= !branch.has(name);
      branch.set(name, next);
      branch = next;
    }
    return !isNew;
  });
}

/** The JSON of an object whose members have columns; undefined if all of their cells are empty. */
export function objectText(
  { schema }: Field,
  members: readonly MemberColumn[],
  cells: Cells,
): string | undefined {
  // Without a prototype, as members may have the names of its own.
  const object: Record<string, unknown> = Object.create(null);
  for (const { index, path } of members) {
    const cell = cells[index];
    if (cell === undefined) continue;
    let [parent, own] = [object, schema];
    for (const name of path.slice(0, -1)) {
      parent[name] ??= Object.create(null);
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
