// The fields of a plant: their labels, their inputs, and the values of what was typed.

import {
  type FieldName,
  type FieldValue,
  fieldNames,
  groupField,
  titleField,
  typeOf,
} from "../../core/contract/fields.ts";
import { html } from "./format.ts";
import { Choice, TextField } from "./text-field.ts";

/** null for an optional field that is absent. */
export type Value = FieldValue | null;

/** The columns that a list has after the title and the group. */
export const otherFields = fieldNames.filter((field) => field !== titleField && field !== groupField);

/** The name of a field as a label: "Height cm". */
export function labelOf(field: string) {
  const words = field.replaceAll("_", " ");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

/** The field that groups plants, within a sentence; it is shown only where there is one. */
export const groupLabel = labelOf(groupField ?? "").toLowerCase();

/**
 * The input of a field, by its type. An empty text of an optional one that is not a text means that
 * the plant does not have it.
 */
export function FieldInput({
  field,
  isMultiline = false,
  ...properties
}: {
  field: FieldName;
  value: string;
  onText: (text: string) => void;
  isOptional?: boolean;
  isMultiline?: boolean;
  error?: string;
}) {
  const shared = { label: labelOf(field), name: field, ...properties };
  const required = !properties.isOptional;
  const { input } = typeOf(field);
  if (input === "text")
    return html`<${TextField} dir="auto" isMultiline=${isMultiline} ...${isMultiline && { rows: 2, spellcheck: false }} ...${shared} />`;
  // Not of the type "number", in which browsers round.
  if (input === "number") return html`<${TextField} inputmode="decimal" required=${required} ...${shared} />`;
  const values = input === "boolean" ? ["true", "false"] : input;
  return html`<${Choice}
    label=${shared.label}
    name=${field}
    required=${required}
    value=${properties.value}
    onText=${properties.onText}
    options=${["", ...values].map((value) => [value, value || (required ? "" : "none")])}
  />`;
}
