// A text field with its label.

import { html } from "./format.js";

/**
 * All other properties become attributes of the input element.
 *
 * @param {{ label: any, name: string, value: string, onText: (text: string) => void, [attribute: string]: any }} properties
 */
export function TextField({ label, onText, ...attributes }) {
  const onInput = (/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
    onText(event.currentTarget.value);
  return html`<label>${label} <input autocomplete="off" ...${attributes} onInput=${onInput} /></label>`;
}
