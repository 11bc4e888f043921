// Finds the parameters by which a list can be sorted, and the properties that they may name.

import type { Representation } from "../../contract/contract.ts";
import {
  isDescending,
  type ListKey,
  type ListSort,
  parseOrder,
  plainName,
} from "../../contract/list-order.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { valueTypes } from "./field-type.ts";
import type { QueryParameter } from "./query-parameters.ts";
import type { Resource } from "./representations.ts";

const sortNames = /^(?:sort|sorts|sortby|sortkey|sortfield|sortcolumn|orderby|order|ordering|orderfield)$/;
const directionNames =
  /^(?:order|direction|dir|(?:sort|order)(?:order|dir|direction|type|ascdesc)|sort|orderby|ordering)$/;

/** Finds what a list may be sorted by: every scalar property that is shown, and the times of the store. */
export function listKeys(
  { id, fields }: Resource,
  { createdName, updatedName }: Pick<Representation, "createdName" | "updatedName">,
): Map<string, ListKey> {
  const keys = new Map<string, ListKey>([[id.name, "id"]]);
  for (const [index, { name, type, shown }] of fields.entries())
    if (shown !== false && type.kind.name !== "json") keys.set(name, index);
  if (createdName !== undefined) keys.set(createdName, "created");
  if (updatedName !== undefined) keys.set(updatedName, "updated");
  return keys;
}

/** The sort of a list; undefined if none of its parameters describes one. */
export function readSort(
  parameters: readonly QueryParameter[],
  keys: ReadonlyMap<string, ListKey>,
): ListSort | undefined {
  const isOnlyDirection = ({ schema }: QueryParameter) => {
    const values = valuesOf(schema) ?? [];
    return values.length > 0 && values.every((value) => isDescending(value) !== undefined);
  };
  const isText = ({ schema }: QueryParameter) => {
    const types = valueTypes(schema);
    return types.size === 0 || types.has("string") || types.has("array");
  };
  const candidates = parameters.filter(
    (each) => sortNames.test(plainName(each.name)) && isText(each) && !isOnlyDirection(each),
  );
  // Beside another one, "order" is a direction.
  const sort = candidates.find(({ name }) => plainName(name) !== "order") ?? candidates[0];
  if (sort === undefined) return undefined;
  const direction = parameters.find(
    (each) =>
      each !== sort &&
      directionNames.test(plainName(each.name)) &&
      (isOnlyDirection(each) ||
        (!candidates.includes(each) && isText(each)) ||
        plainName(each.name) === "order"),
  );
  const values = valueTypes(sort.schema).has("array") ? undefined : valuesOf(sort.schema);
  const own = textOf(sort.schema.default);
  const isServed = (value: string) => parseOrder(value, keys) !== undefined;
  const refused = [...new Set([...(values ?? []), ...(own === undefined ? [] : [own])])].filter(
    (value) => !isServed(value),
  );
  for (const value of refused)
    sort.place.note(
      value === own
        ? `the default "${value}" of its parameter "${sort.name}" names no property that is served: it is not applied`
        : `a list in the order "${value}" is not served: it responds with 501`,
    );
  return {
    name: sort.name,
    direction: direction?.name,
    keys,
    named: namedKeys(sort, keys, values ?? [], own),
    default: own !== undefined && isServed(own) ? own : undefined,
    defaultDirection: textOf(direction?.schema.default),
    values,
    refused,
    isRequired: sort.isRequired,
  };
}

/** The keys in an enum, a default, examples or the words of a parameter. */
function namedKeys(
  { place, schema }: QueryParameter,
  keys: ReadonlyMap<string, ListKey>,
  values: readonly string[],
  own = "",
): ListKey[] {
  const items = isObject(schema.items) ? schema.items : {};
  const said = [...values, ...(valuesOf(items) ?? []), own, schema.example, place.at("example").value];
  const orders = said.flatMap((text) => (typeof text === "string" && parseOrder(text, keys)) || []);
  const words = `${place.at("description").value ?? ""} ${schema.description ?? ""}`.split(
    /[^\p{L}\p{N}_]+/u,
  );
  const inWords = [...keys].flatMap(([name, key]) => (words.includes(name) ? [key] : []));
  return [...new Set([...orders.map(({ key }) => key), ...inWords])];
}

/** The texts that a schema has in its enum. */
function valuesOf({ enum: values }: Json): string[] | undefined {
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : undefined;
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(",");
  return typeof value === "string" && value !== "" ? value : undefined;
}
