// The fields of a plant as an operator types them: their labels, their inputs, and the plant of what
// was typed.

import {
  type FieldName,
  type FieldValue,
  fieldNames,
  groupField,
  isRequired,
  titleField,
  typeOf,
} from "../../core/contract/fields.ts";
import { toExactJson } from "../../exact-json.ts";
import { html } from "./format.ts";
import { Choice, TextField } from "./text-field.ts";

/** null for an optional field that is absent. */
export type Value = FieldValue | null;

export type Fields = Readonly<Record<string, Value>>;

/** The text of each field as typed. */
export type Draft = Readonly<Record<string, string>>;

/** The columns that a list has after the title and the group. */
export const otherFields = fieldNames.filter((field) => field !== titleField && field !== groupField);

/** The name of a field as a label: "Height cm". */
export function labelOf(field: string) {
  const words = field.replaceAll("_", " ");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

/** The field that groups plants, within a sentence; it is shown only where there is one. */
export const groupLabel = labelOf(groupField ?? "").toLowerCase();

/** The draft of a plant, or of a new one. */
export function draftOf(fields: Fields = {}): Draft {
  const entries = fieldNames.map((field) => {
    const value = fields[field] ?? null;
    // A textarea has line feeds only.
    return [field, value === null ? "" : typeOf(field).format(value).replace(/\r\n?/g, "\n")];
  });
  return Object.fromEntries(entries);
}

/** The body of POST /plants for a draft. A field whose text was not changed stays as it is stored. */
export function bodyOf(id: string, draft: Draft, stored: Fields = {}): string {
  const unchanged = draftOf(stored);
  const values = fieldNames.map((field) => {
    const text = draft[field] ?? "";
    const original = text === unchanged[field] ? (stored[field] ?? null) : null;
    if (text === "" && original === null && !isRequired(field)) return [field, undefined];
    return [field, parse(field, typeof original === "string" ? original : text)];
  });
  const present = values.filter(([, value]) => value !== undefined);
  return toExactJson({ id: BigInt(id), ...Object.fromEntries(present) });
}

/** The server rejects a text that is not of the type, and says what is expected. */
function parse(field: FieldName, text: string): unknown {
  const value = typeOf(field).parse(text);
  return value === undefined ? text : typeOf(field).toJson(value);
}

/** An input for each field, by its type. An empty text of an optional one means that it is absent. */
export function FieldInputs({
  draft,
  isMultiline = false,
  onDraft,
}: {
  draft: Draft;
  isMultiline?: boolean;
  onDraft: (draft: Draft) => void;
}) {
  return fieldNames.map((field) => {
    const shared = {
      label: labelOf(field),
      name: field,
      value: draft[field] ?? "",
      onText: (text: string) => onDraft({ ...draft, [field]: text }),
    };
    const required = isRequired(field);
    const { input } = typeOf(field);
    if (input === "text")
      return html`<${TextField} dir="auto" isOptional=${!required} isMultiline=${isMultiline} ...${isMultiline && { rows: 2, spellcheck: false }} ...${shared} />`;
    // Not of the type "number", in which browsers round.
    if (input === "number")
      return html`<${TextField} inputmode="decimal" isOptional=${!required} required=${required} ...${shared} />`;
    const values = input === "boolean" ? ["true", "false"] : input;
    return html`<${Choice}
      required=${required}
      options=${["", ...values].map((value) => [value, value || (required ? "" : "none")])}
      ...${shared}
    />`;
  });
}
