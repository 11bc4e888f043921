// The fields of a plant: their labels, their inputs, and the values of what was typed.

import { fields } from "./fields.js";
import { html } from "./format.js";
import { TextField } from "./text-field.js";

/** @typedef {string | number | boolean | null} Value null for an optional field that is absent. */

export const fieldNames = Object.keys(fields);

/** The columns that a list has after the name and the tag. */
export const otherFields = fieldNames.filter((field) => field !== "name" && field !== "tag");

/** @param {string} field */
export function typeOf(field) {
  return fields[field]?.type ?? "text";
}

/** @param {string} field */
export function isRequired(field) {
  return fields[field]?.isRequired ?? false;
}

/** The name of a field as a label: "Height cm". @param {string} field */
export function labelOf(field) {
  const words = field.replaceAll("_", " ");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

/**
 * The value that the text of an input denotes, which the browser has checked.
 *
 * @param {string} field
 * @param {string} text
 * @returns {string | number | boolean}
 */
export function toValue(field, text) {
  switch (typeOf(field)) {
    case "text":
      return text;
    case "integer":
      return Number(text);
    case "boolean":
      return text === "true";
  }
}

/**
 * The input of a field, by its type. An empty text of an optional one that is not a text means that
 * the plant does not have it.
 *
 * @param {{ field: string, value: string, onText: (text: string) => void, isOptional?: boolean, isMultiline?: boolean,
 *   error?: string }} properties
 */
export function FieldInput({ field, isMultiline = false, ...properties }) {
  const shared = { label: labelOf(field), name: field, ...properties };
  const required = !properties.isOptional;
  switch (typeOf(field)) {
    case "text":
      return isMultiline
        ? html`<${TextArea} ...${shared} />`
        : html`<${TextField} dir="auto" ...${shared} />`;
    case "integer":
      return html`<${TextField} type="number" step="1" min="-2147483648" max="2147483647" required=${required} ...${shared} />`;
    case "boolean":
      return html`<${Choice} required=${required} ...${shared} />`;
  }
}

/**
 * A field for text of several lines: one of a single line would remove the line ends of a name.
 *
 * @param {{ label: string, name: string, value: string, onText: (text: string) => void }} properties
 */
function TextArea({ label, name, value, onText }) {
  return html`
    <label>
      ${label}
      <textarea
        name=${name}
        rows="2"
        dir="auto"
        spellcheck=${false}
        value=${value}
        onInput=${(/** @type {InputEvent & { currentTarget: HTMLTextAreaElement }} */ event) => onText(event.currentTarget.value)}
      ></textarea>
    </label>
  `;
}

/**
 * @param {{ label: string, name: string, value: string, required: boolean, onText: (text: string) => void }} properties
 */
function Choice({ label, name, value, required, onText }) {
  return html`
    <label>
      ${label}
      <select
        name=${name}
        required=${required}
        value=${value}
        onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) => onText(event.currentTarget.value)}
      >
        ${["", "true", "false"].map((option) => html`<option value=${option}>${option || (required ? "" : "none")}</option>`)}
      </select>
    </label>
  `;
}
