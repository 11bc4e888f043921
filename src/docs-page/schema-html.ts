// Renders the tables of the page: parameters, and the fields of schemas.

import type { Collection } from "../contract/contract.ts";
import { capitalized } from "../contract/words.ts";
import { toExactJson } from "../json/exact-json.ts";
import { isStorablePattern } from "../openapi/schema/patterns.ts";
import {
  type DescribedOperation,
  type Description,
  jsonMedia,
  nameOf,
  referencedResponse,
  type Schema,
} from "./description.ts";
import { markdown } from "./markdown.ts";
import type { OperationGroup } from "./placed-operations.ts";

type Table<Value> = Readonly<Record<string, Value>>;

const { escapeHTML } = Bun;

/** The schemas of the create that have no name of their own, and those that operations refer to. */
function shownSchemas(
  { collection, operations }: OperationGroup,
  description: Description,
): (readonly [name: string, schema: Schema])[] {
  const reachable = reachableFrom(operations, description);
  return [
    ...(collection === undefined ? [] : inlineSchemas(collection, operations[0], description)),
    ...Object.entries(description.components.schemas).filter(([name]) => reachable.has(name)),
  ];
}

function inlineSchemas(
  { words }: Collection,
  create: DescribedOperation,
  { components }: Description,
): (readonly [name: string, schema: Schema])[] {
  const success = Object.entries(create.responses).find(([status]) => status.startsWith("2"))?.[1];
  const returned = success && referencedResponse(components, success);
  return [
    [words.body, jsonMedia(create.requestBody?.content)?.[1].schema] as const,
    [words.one, jsonMedia(returned?.content)?.[1].schema] as const,
  ].flatMap(([name, schema]) =>
    schema === undefined || schema.$ref !== undefined ? [] : [[name, schema] as const],
  );
}

/** The names of the schemas that operations refer to. */
function reachableFrom(operations: readonly object[], { components }: Description): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    const { $ref } = value as { readonly $ref?: unknown };
    if (typeof $ref === "string") {
      const name = nameOf({ $ref });
      if ($ref.startsWith("#/components/schemas/") && !names.has(name)) {
        names.add(name);
        visit(components.schemas[name]);
      } else if ($ref.startsWith("#/components/responses/")) visit(components.responses?.[name]);
    }
    for (const member of Object.values(value)) visit(member);
  };
  visit(operations);
  return names;
}

export function renderParameters({ parameters = [] }: DescribedOperation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required = false, schema, description = "" }) =>
    renderRow({
      name,
      schema: schema ?? {},
      isRequired: required,
      text: description,
      note: `in the ${place}`,
    }),
  );
  return `<h3>Parameters</h3>${renderTable("Parameter", rows)}`;
}

export function renderSchemas(group: OperationGroup, description: Description): string {
  const { schemas } = description.components;
  return shownSchemas(group, description)
    .map(([name, schema]) => {
      const parts = partsOf(schema, schemas);
      const required = parts.flatMap((part) => part.required ?? []);
      const rows = parts
        .flatMap((part) => Object.entries(part.properties ?? {}))
        .map(([field, property]) =>
          renderRow({
            name: field,
            schema: property,
            isRequired: required.includes(field),
            text: property.description ?? "",
          }),
        );
      const type = `<p class="note">${escapeHTML(describeType(schema))}</p>`;
      return `<h3>${escapeHTML(name)}</h3>${markdown(schema.description ?? "")}${rows.length === 0 ? type : renderTable("Field", rows)}`;
    })
    .join("");
}

/**
 * A schema and those of its allOf, the last first: fields that are added to another schema come
 * first, such as the id of a NewPlant.
 */
function partsOf(schema: Schema, schemas: Table<Schema>, depth = 0): Schema[] {
  const part = schemas[nameOf(schema)] ?? schema;
  const others = depth < 8 ? (part.allOf ?? []).map((each) => partsOf(each, schemas, depth + 1)) : [];
  return [...others.toReversed().flat(), part];
}

function renderTable(subject: string, rows: readonly string[]): string {
  return `<table><thead><tr><th scope="col">${subject}</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

interface Row {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly text: string;
  readonly note?: string;
}

function renderRow({ name, schema, isRequired, text, note }: Row): string {
  const notes = [...(note === undefined ? [] : [note]), ...notesOf(schema)].join(", ");
  const format = schema.format === undefined ? "" : ` <span class="note">${escapeHTML(schema.format)}</span>`;
  return `<tr>
              <th scope="row"><code>${escapeHTML(name)}</code></th>
              <td data-title="Type">${escapeHTML(describeType(schema))}${format}<br>${isRequired ? "required" : '<span class="note">optional</span>'}</td>
              <td data-title="Meaning">${markdown(text)}${notes === "" ? "" : `<p class="note">${capitalized(notes)}</p>`}</td>
            </tr>`;
}

/** The limits, the default and an example of a value, as HTML. */
function notesOf(schema: Schema): string[] {
  const json = (value: unknown) => `<code>${escapeHTML(toExactJson(value))}</code>`;
  const { enum: values, pattern, default: value, examples: [example = schema.example] = [] } = schema;
  const notes: string[] = [];
  const range = rangeOf(schema.minimum, schema.maximum);
  const length = rangeOf(schema.minLength, schema.maxLength);
  if (values !== undefined) notes.push(`one of ${values.map(json).join(", ")}`);
  if (range !== "") notes.push(range);
  if (length !== "") notes.push(`${length} characters`);
  if (pattern !== undefined && !isStorablePattern(pattern))
    notes.push(`matches <code>${escapeHTML(pattern)}</code>`);
  if (value !== undefined) notes.push(`${json(value)} if absent`);
  if (example !== undefined) notes.push(`such as ${json(example)}`);
  return notes;
}

function rangeOf(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined && maximum === undefined) return "";
  if (minimum === undefined) return `at most ${escapeHTML(String(maximum))}`;
  if (maximum === undefined) return `at least ${escapeHTML(String(minimum))}`;
  return `from ${escapeHTML(String(minimum))} to ${escapeHTML(String(maximum))}`;
}

/** Such as "string", "NewPlant" or "array of Plant". */
export function describeType(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (schema.type === undefined && alternatives !== undefined)
    return alternatives.map(describeType).join(" or ");
  if (schema.type === undefined && (schema.properties ?? schema.allOf) !== undefined) return "object";
  if (schema.type !== "array") return [schema.type ?? "any"].flat().join(" or ");
  return schema.items === undefined ? "array" : `array of ${describeType(schema.items)}`;
}
