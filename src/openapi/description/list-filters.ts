// Finds the parameters by which a list chooses resources: the names of properties, alone or with a
// comparison, such as "price", "price_gte", "price[lt]", "min_price" or "createdAfter".

import type { ListFilter } from "../../contract/contract.ts";
import { filterOperators } from "../../contract/contract.ts";
import { type ListKey, plainName } from "../../contract/list-order.ts";
import { isObject } from "../../json/json-values.ts";
import type { Place } from "../document/place.ts";
import { checkOf } from "./checks.ts";
import { toFieldValue } from "./example-values.ts";
import { isEnforced, valueTypes } from "./field-type.ts";
import type { QueryParameter } from "./query-parameters.ts";
import type { Resource } from "./representations.ts";

type Operator = ListFilter["operator"];

/** Parameters whose words are looked for in all texts. */
const searchNames = /^(?:q|query|search|searchterm|searchquery|searchtext|keywords?|term|fulltext|find)$/;

/** Words after the name of a property; some may also come before it. */
const words: Readonly<Record<string, Operator>> = {
  ...{ eq: "eq", in: "eq", ne: "ne", neq: "ne", not: "ne", gt: "gt", gte: "gte", lt: "lt", lte: "lte" },
  ...{
    min: "gte",
    max: "lte",
    from: "gte",
    to: "lte",
    since: "gte",
    until: "lte",
    after: "gt",
    before: "lt",
  },
  ...{ like: "contains", ilike: "contains", contains: "contains", icontains: "contains", search: "contains" },
};
const wordsBefore = ["min", "max", "from", "to", "since", "until", "after", "before"];

/** The property and the comparison of a name; undefined if it names none. */
function named(name: string, keys: ReadonlyMap<string, ListKey>) {
  const find = (stem: string, endings: readonly string[] = [""]) =>
    [...keys].find(([own]) => endings.some((ending) => plainName(own) === stem + ending))?.[1];
  const key = keys.get(name) ?? find(plainName(name));
  if (key !== undefined) return { key, operator: name.endsWith("!") ? ("ne" as const) : ("eq" as const) };
  const parts = name
    .replaceAll(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1 ")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== "");
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  for (const [word, stem] of [
    [last, parts.slice(0, -1).join("")],
    [wordsBefore.includes(first) ? first : "", parts.slice(1).join("")],
  ] as const) {
    const operator = Object.hasOwn(words, word) ? words[word] : undefined;
    // "created_after" is of "created_at".
    const found = stem === "" ? undefined : (find(stem) ?? find(stem, ["at", "on", "date", "time"]));
    if (operator !== undefined && found !== undefined) return { key: found, operator };
  }
  return undefined;
}

/** The property and the comparison that the author of a description has written at a parameter. */
function written(place: Place, keys: ReadonlyMap<string, ListKey>) {
  const extension = place.at("x-plantstore-filter");
  if (extension.object === undefined) return undefined;
  const key = keys.get(String(extension.at("property").value));
  const operator = String(extension.at("operator").value ?? "eq");
  const operators = [...Object.keys(filterOperators), "contains"];
  if (key !== undefined && operators.includes(operator)) return { key, operator: operator as Operator };
  throw extension.error(
    `its "property" must be one of ${[...keys.keys()].join(", ")}, and its "operator" one of ${operators.join(", ")}`,
  );
}

/** The parameters that choose resources. Rejects with a ContractError for a wrong extension. */
export async function readFilters(
  parameters: readonly QueryParameter[],
  keys: ReadonlyMap<string, ListKey>,
  { fields }: Resource,
): Promise<ListFilter[]> {
  const found: ListFilter[] = [];
  for (const { name, place, schema, checked, isRequired } of parameters) {
    const plural = valueTypes(schema).has("array") ? name.replace(/(?:s|\[\])$/, "") : name;
    const isSearch = searchNames.test(plainName(name)) && valueTypes(schema).has("string");
    const own =
      written(place, keys) ??
      named(name, keys) ??
      named(plural, keys) ??
      (isSearch ? ({ key: "any", operator: "contains" } as const) : undefined);
    const valueSchema = valueTypes(schema).has("array") ? schema.items : schema;
    const isScalar = [...valueTypes(valueSchema)].every((type) => type !== "object" && type !== "array");
    if (own === undefined || !isScalar) continue;
    const isEquality = own.operator === "eq" || own.operator === "ne";
    const field = typeof own.key === "number" ? fields[own.key] : undefined;
    const isList = valueTypes(schema).has("array");
    // A range takes one value, and booleans have no order.
    if (!isEquality && (isList || field?.type.kind.name === "boolean")) continue;
    // Only texts have parts.
    if (own.operator === "contains" && own.key !== "any" && field?.type.column.sqlite !== "TEXT") continue;
    const isKnown = field === undefined || field.type.kind.name !== "text" || Array.isArray(field.type.input);
    const values = isList ? checked?.at("items") : checked;
    const isChecked = isObject(valueSchema) && values?.value !== undefined && !isEnforced(valueSchema);
    found.push({
      name,
      ...own,
      isList,
      hasCommas: isKnown || place.at("explode").value === false,
      fallback: field && toFieldValue(field.type, field.schema.default),
      check: isChecked && values !== undefined ? await checkOf(values) : undefined,
      isRequired,
    });
  }
  return found;
}
