// Picks the part of the contract that the page gets: the server parses and validates the texts that
// it shows.

import type { Collection, Contract, Field } from "../contract/contract.ts";
import { sampleBody } from "../contract/plant.ts";
import { referenceOf } from "../contract/references.ts";
import { capitalized } from "../contract/words.ts";
import { isObject } from "../json/json-values.ts";
import { searchedFields } from "../store/shared/text-search.ts";

/** A field of a form. */
export interface PageField {
  readonly name: string;
  readonly input: "text" | "number" | "json" | "boolean" | readonly string[];
  readonly isRequired: boolean;
  /** Whether the value is a text, which JSON has in quotes. */
  readonly isText: boolean;
  readonly isNullable: boolean;
  /** Whether it is an object of the members that no property names. */
  readonly isOthers: boolean;
  /** The type with an example, for fields that do not take any text; "" for others. */
  readonly hint: string;
  /** The value that is stored where there is none; "" for none. */
  readonly default: string;
  /** Whether a date picker can give every value. */
  readonly isDate: boolean;
  /** How a search compares it; "" for objects and lists. */
  readonly filter: "text" | "boolean" | "number" | "date" | "time" | "";
  /** A value for examples; "" for none that says anything. */
  readonly example: string;
  /** The name of the collection whose ids it has; "" for none. */
  readonly references: string;
}

export interface PageContract {
  /** Such as "Plant Store". */
  readonly service: string;
  /** In the order of the description. */
  readonly collections: readonly PageCollection[];
}

export interface PageCollection {
  /** The name in addresses. */
  readonly name: string;
  readonly one: string;
  readonly many: string;
  /** The path of the collection, such as "/plants". */
  readonly path: string;
  readonly id: {
    readonly name: string;
    /** Whether it is a text, which JSON has in quotes. */
    readonly isText: boolean;
    /** The type with an example. */
    readonly hint: string;
    /** Whether a new one gets it from the server, so that forms have no field for it. */
    readonly isMade: boolean;
  };
  readonly fields: readonly PageField[];
  /** The indexes of the field that lists show first and of the field that groups; -1 for none. */
  readonly title: number;
  readonly group: number;
  /** The names of the fields that a search looks through. */
  readonly searched: readonly string[];
  readonly sampleBody: string;
}

export function pageContract({ service, basePath, collections }: Contract): PageContract {
  return { service, collections: collections.map((each) => pageCollection(each, basePath, collections)) };
}

function pageCollection(
  collection: Collection,
  basePath: string,
  all: readonly Collection[],
): PageCollection {
  const { name, words, path, id, fields, titleField, groupField } = collection;
  return {
    name,
    one: words.one,
    many: words.many,
    path: basePath + path,
    id: {
      name: id.name,
      isText: id.type.kind.name !== "integer",
      hint: idHint(collection),
      isMade: !id.isRequired,
    },
    fields: fields.map((field) => ({
      name: field.name,
      input: field.type.input,
      isRequired: field.isRequired,
      isText: field.type.kind.name === "text",
      isNullable: field.type.kind.isNullable === true,
      isOthers: field.isOthers,
      hint: hintOf(field),
      default: field.default === undefined ? "" : field.type.format(field.default),
      isDate: isDate(field),
      filter: filterKind(field),
      example: exampleOf(field),
      references: referenceOf(field, all)?.name ?? "",
    })),
    title: titleField === undefined ? -1 : fields.indexOf(titleField),
    group: groupField === undefined ? -1 : fields.indexOf(groupField),
    searched: searchedFields(collection).map(({ name }) => name),
    sampleBody: sampleBody(collection, 42n),
  };
}

/** Examples that are longer are left out of hints. */
const exampleLengthMax = 60;

function hintOf(field: Field): string {
  const { type } = field;
  const { expected, input } = type;
  if (expected === "a string" || input === "boolean" || Array.isArray(input)) return "";
  const text = exampleOf(field);
  const isShown =
    text !== "" &&
    text.length <= exampleLengthMax &&
    type.parse(text) !== undefined &&
    !expected.includes("such as");
  return `${capitalized(expected)}${isShown ? `, such as ${text}` : ""}`;
}

function exampleOf({ type, example }: Field): string {
  const text = type.format(example);
  return isMadeUp(text) ? "" : text;
}

/** Whether an example is the word that stands for any text, perhaps cut or repeated. */
function isMadeUp(text: string): boolean {
  return "string".repeat(exampleLengthMax).startsWith(text);
}

/** A required field that may be null needs a text field: a picker would have two empty values. */
function isDate(field: Field): boolean {
  const isNull = field.type.kind.isNullable === true && field.isRequired;
  return field.type.input === "text" && filterKind(field) === "date" && !isNull;
}

function filterKind({ schema, type: { kind } }: Field): PageField["filter"] {
  if (kind.name === "json") return "";
  if (kind.name !== "text") return kind.name === "boolean" ? "boolean" : "number";
  const { format } = isObject(schema) ? schema : {};
  return format === "date" ? "date" : format === "date-time" ? "time" : "text";
}

function idHint({ id: { type }, examples: [example] }: Collection): string {
  if (type.kind.name === "integer") return "A whole number, such as 42";
  const { expected } = type;
  return `${capitalized(expected)}, such as ${example?.id}`;
}
