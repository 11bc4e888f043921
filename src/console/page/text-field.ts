// Shows fields with their labels: a text field, with a hint and what is wrong with its text, and a
// choice.

import type { ComponentChildren } from "./library.js";
import { html, onValue } from "./markup.ts";

/** All other properties become attributes of the element. */
interface FieldProperties {
  label: ComponentChildren;
  onText?: (text: string) => void;
  isOptional?: boolean;
  hint?: ComponentChildren;
  error?: string;
  [attribute: string]: unknown;
}

/** `isMultiline`: an input of a single line would remove the line ends of a text. */
export function TextField({
  isMultiline = false,
  onText = () => undefined,
  ...others
}: FieldProperties & { name: string; isMultiline?: boolean }) {
  const element = isMultiline ? "textarea" : "input";
  return html`<${Field} element=${element} autocomplete="off" ...${others} onInput=${onValue(onText)} />`;
}

/** `initial`: chosen at first, where `value` does not say what is chosen. */
export function Choice({
  initial,
  options,
  onText = () => undefined,
  ...others
}: FieldProperties & { initial?: string; options: readonly (readonly [value: string, text: string])[] }) {
  return html`
    <${Field} element="select" ...${others} onChange=${onValue(onText)}>
      ${options.map(([value, text]) => html`<option value=${value} selected=${value === initial}>${text}</option>`)}
    <//>
  `;
}

function Field({
  element,
  label,
  isOptional,
  hint = "",
  error = "",
  ...attributes
}: FieldProperties & { element: string }) {
  const noteId = `${attributes.name}-note`;
  const note = error === "" ? hint : error;
  return html`
    <div class="field">
      <label>
        <span>${label}${isOptional && html`${" "}<span class="faint">(optional)</span>`}</span>
        <${element}
          ...${attributes}
          aria-invalid=${error === "" ? null : "true"}
          aria-describedby=${note === "" ? null : noteId}
        />
      </label>
      ${note !== "" && html`<p id=${noteId} class=${error === "" ? "hint" : "field-error"} role=${error === "" ? null : "alert"}>${note}</p>`}
    </div>
  `;
}
