// Fields with their labels: a text field, with a hint and what is wrong with its text, and a
// choice.

import type { ComponentChildren } from "./library.js";
import { html, onValue } from "./markup.ts";

/**
 * All other properties become attributes of the input element.
 *
 * `isMultiline`: an input of a single line would remove the line ends of a text.
 */
export function TextField({
  label,
  onText = () => undefined,
  isOptional,
  isMultiline = false,
  hint = "",
  error = "",
  ...attributes
}: {
  label: ComponentChildren;
  name: string;
  onText?: (text: string) => void;
  isOptional?: boolean;
  isMultiline?: boolean;
  hint?: ComponentChildren;
  error?: string;
  [attribute: string]: unknown;
}) {
  const noteId = `${attributes.name}-note`;
  const note = error === "" ? hint : error;
  return html`
    <div class="field">
      <label>
        <span>${label}${isOptional && html`${" "}<span class="faint">(optional)</span>`}</span>
        <${isMultiline ? "textarea" : "input"}
          autocomplete="off"
          ...${attributes}
          aria-invalid=${error === "" ? null : "true"}
          aria-describedby=${note === "" ? null : noteId}
          onInput=${onValue(onText)}
        />
      </label>
      ${note !== "" && html`<p id=${noteId} class=${error === "" ? "hint" : "field-error"} role=${error === "" ? null : "alert"}>${note}</p>`}
    </div>
  `;
}

/**
 * All other properties become attributes of the select element.
 *
 * `initial`: chosen at first, where `value` does not say what is chosen.
 */
export function Choice({
  label,
  initial,
  options,
  onText = () => undefined,
  hint = "",
  ...attributes
}: {
  label: string;
  hint?: ComponentChildren;
  initial?: string;
  options: readonly (readonly [value: string, text: string])[];
  onText?: (value: string) => void;
  [attribute: string]: unknown;
}) {
  const noteId = `${attributes.name}-note`;
  return html`
    <div class="field">
      <label>
        <span>${label}</span>
        <select ...${attributes} aria-describedby=${hint === "" ? null : noteId} onChange=${onValue(onText)}>
          ${options.map(([value, text]) => html`<option value=${value} selected=${value === initial}>${text}</option>`)}
        </select>
      </label>
      ${hint !== "" && html`<p id=${noteId} class="hint">${hint}</p>`}
    </div>
  `;
}
