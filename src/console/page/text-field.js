// A text field with its label, a hint, and what is wrong with its text.

import { html } from "./format.js";

/**
 * All other properties become attributes of the input element.
 *
 * @param {{ label: any, name: string, value: string, onText: (text: string) => void, isOptional?: boolean, hint?: string,
 *   error?: string, [attribute: string]: any }} properties
 */
export function TextField({ label, onText, isOptional, hint = "", error = "", ...attributes }) {
  const onInput = (/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
    onText(event.currentTarget.value);
  const noteId = `${attributes.name}-note`;
  const note = error === "" ? hint : error;
  return html`
    <div class="field">
      <label>
        <span>${label}${isOptional && html`${" "}<span class="faint">(optional)</span>`}</span>
        <input
          autocomplete="off"
          ...${attributes}
          aria-invalid=${error === "" ? null : "true"}
          aria-describedby=${note === "" ? null : noteId}
          onInput=${onInput}
        />
      </label>
      ${note !== "" && html`<p id=${noteId} class=${error === "" ? "hint" : "field-error"} role=${error === "" ? null : "alert"}>${note}</p>`}
    </div>
  `;
}
