// Reads the conditions of a list from its parameters.

import type { Collection, Field, ListFilter } from "../contract/contract.ts";
import type { ListKey } from "../contract/list-order.ts";
import { acceptsText } from "../contract/schema-check.ts";
import { type FieldType, type FieldValue, text, typeOfKind } from "../contract/stored-types.ts";
import type { Condition, ConditionValue } from "../store/shared/conditions.ts";
import type { SqlValue } from "../store/sql-connection.ts";
import { optional, type Parameter, type Parameters, required } from "./parameters.ts";

/** Values of one filter. */
const valuesMax = 100;

/** Characters of a search. */
const searchMax = 100;

/** The conditions that were sent. */
export function conditionsOf(
  { list }: Collection,
  sent: Readonly<Record<string, unknown>>,
): readonly Condition[] {
  return list.filters.flatMap(({ name, key, operator }) => {
    const values = sent[name] as readonly ConditionValue[] | undefined;
    return values === undefined || values.length === 0 ? [] : [{ key, operator, values }];
  });
}

/** Stands for values that the description has and that choose nothing that is stored. */
export const notServed = Symbol("not served");

/** The parameters that choose resources. */
export function filterParameters(collection: Collection): Parameters {
  const { list, words } = collection;
  const all = list.filters.map(
    (filter): [string, Parameter<readonly ConditionValue[] | typeof notServed | undefined>] => {
      const { name, key, operator, isList, hasCommas, check, isRequired } = filter;
      const shownName = typeof key === "number" ? collection.fields[key]?.name : key;
      if (operator === "contains" || key === "any") {
        const parameter = searchParameter(filter, words.many, shownName);
        return [name, isRequired ? required(parameter) : optional(parameter)];
      }
      const compared = typeOf(collection, key);
      const { type } = compared;
      const isRange = operator !== "eq" && operator !== "ne";
      const bounds = compared.format === undefined ? "a value to compare with" : boundsOf[compared.format];
      const expected = check?.expected ?? (isRange ? bounds : type.expected);
      const parameter = {
        description: `Only ${words.many} whose ${shownName} ${said[operator]} ${isList ? "one of these" : "this"}.`,
        schema: (typeof key === "number" && collection.fields[key]?.schema) || {},
        expected: isList ? `at most ${valuesMax} values, each ${expected}` : expected,
        isRepeatable: isList,
        parse(...sent: readonly string[]) {
          const texts = isList && hasCommas ? sent.flatMap((each) => each.split(",")) : sent;
          if (texts.length > valuesMax) return undefined;
          const isDescribed = check !== undefined && texts.every((each) => acceptsText(check, each));
          if (check !== undefined && !isDescribed) return undefined;
          const bound = texts.map((each) => boundOf(filter, compared, each));
          if (bound.every((each) => each !== undefined)) return bound;
          // The parameter may have values that the property does not have.
          if (!isDescribed) return undefined;
          return texts.every((each) => /^(?:all|any|\*)$/i.test(each)) ? [] : notServed;
        },
      };
      return [name, isRequired ? required(parameter) : optional(parameter)];
    },
  );
  return Object.fromEntries(all);
}

/** Words that are looked for in all texts, or a part of one. */
function searchParameter({ key, check }: ListFilter, many: string, name = "id"): Parameter<ConditionValue[]> {
  const where = key === "any" ? "whose texts have each of these words" : `whose ${name} has this part`;
  return {
    description: `Only ${many} ${where}, without regard to case.`,
    schema: { type: "string", maxLength: searchMax },
    expected: check?.expected ?? `a text of at most ${searchMax} characters`,
    parse(sent) {
      if ([...sent].length > searchMax || (check && !acceptsText(check, sent))) return undefined;
      const parts = (key === "any" ? sent.split(/\s+/) : [sent]).filter((part) => part !== "");
      return parts.map((value) => ({ value, operator: "contains", isFallback: false }));
    },
  };
}

const said = {
  eq: "is",
  ne: "is not",
  gt: "is above",
  gte: "is at least",
  lt: "is below",
  lte: "is at most",
};

/** The limits of a range that are more than a value of the property's kind, by its format. */
const boundsOf = {
  date: "a date such as 2026-11-24",
  "date-time": "a date such as 2026-11-24, or a time such as 2026-11-24T12:00:00Z",
} as const;

/** The type of what is compared, its format, and whether it is a time of the store's. */
interface ComparedType {
  readonly type: FieldType;
  readonly format: keyof typeof boundsOf | undefined;
  readonly isOfStore: boolean;
}

function typeOf({ id, fields }: Collection, key: ListKey): ComparedType {
  if (key === "id") return { type: id.type as unknown as FieldType, format: undefined, isOfStore: false };
  if (typeof key !== "number")
    return { type: text("a time (RFC 3339)"), format: "date-time", isOfStore: true };
  const { type, schema } = fields[key] as Field;
  const format = schema.format === "date" || schema.format === "date-time" ? schema.format : undefined;
  return { type, format, isOfStore: false };
}

const dateOnly = /^\d{4}-\d\d-\d\d$/;
const dateTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** A time to compare with: that of a day is its beginning in UTC, or its end, where it is included. */
function dayOrTime(text: string, operator: ListFilter["operator"]) {
  if (!dateOnly.test(text)) return dateTime.test(text) && isReal(text) ? { text, operator } : undefined;
  if (!isReal(text)) return undefined;
  const atEnd = ({ gt: "gte", lte: "lt" } as const)[operator as "gt" | "lte"];
  if (atEnd === undefined) return { text: `${text}T00:00:00Z`, operator };
  return { text: `${text}T24:00:00Z`, operator: atEnd };
}

/** Whether there is such a time; a leap second is that before it. */
function isReal(text: string): boolean {
  const time = Date.parse(text.replace(/:60/, ":59").toUpperCase());
  return (
    !Number.isNaN(time) &&
    new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(text.slice(0, 10))
  );
}

/** Binds a text; undefined if it is no value of the property. */
function boundOf(
  { operator, fallback }: ListFilter,
  { type, format, isOfStore }: ComparedType,
  text: string,
): ConditionValue | undefined {
  const isFallback = (value: FieldValue) => fallback !== undefined && type.equals(value, fallback);
  if (isOfStore) {
    const time = dayOrTime(text, operator);
    if (time === undefined) return undefined;
    // The store has milliseconds: what is between two of them is after the first one.
    const isBetween = /\.\d{3}\d*[1-9]/.test(time.text);
    const next = isBetween && (time.operator === "gte" || time.operator === "lt") ? 1n : 0n;
    const milliseconds = BigInt(
      Math.floor(
        Date.parse(
          time.text
            .replace(/(\.\d{3})\d+/, "$1")
            .replace(":60", ":59")
            .toUpperCase(),
        ),
      ),
    );
    return { value: milliseconds + next, operator: time.operator, isFallback: false };
  }
  const { name, isNullable = false } = type.kind;
  if (operator === "eq" || operator === "ne") {
    // "null" is a text where texts are: no value is null.
    const value = type.parse(isNullable && name === "text" ? JSON.stringify(text) : text);
    if (value === undefined || value === null) return undefined;
    return { value: type.toColumn(value) as SqlValue, operator, isFallback: isFallback(value) };
  }
  // A limit may be outside those of the property, and have more digits.
  const plain = typeOfKind({ name });
  if (format === "date" && !(dateOnly.test(text) && isReal(text))) return undefined;
  const bound = format === "date-time" ? dayOrTime(text, operator) : { text, operator };
  const value = bound && plain.parse(bound.text);
  if (bound === undefined || value === undefined) return undefined;
  const stored = isNullable ? plain.toJson(value) : (plain.toColumn(value) as SqlValue);
  return { value: stored, operator: bound.operator, isFallback: false };
}
