// Markup, and figures and moments as people read them.

import htm from "./library/htm.js";
import { h } from "./library/preact.js";

/** Markup in a template: what is put into it is text, never markup. */
export const html = htm.bind(h);

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

/** @param {number | null | undefined} value */
export function figure(value) {
  if (value === null || value === undefined) return "–";
  return value >= 100 ? whole.format(value) : fine.format(value);
}

/** @param {number} seconds since the epoch. */
export function timeOfDay(seconds) {
  return new Date(seconds * 1_000).toLocaleTimeString("en-GB");
}

/**
 * @param {string | null} iso
 * @param {string} [none] what stands where there is no moment.
 */
export function moment(iso, none = "–") {
  if (iso === null) return none;
  const text = new Date(iso).toLocaleString("en-GB", {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  return html`<time datetime=${iso}>${text}</time>`;
}

/**
 * Text that somebody else has chosen: it cannot turn its surroundings around, whatever directions it holds.
 *
 * @param {string} text
 */
export function foreign(text) {
  return text === "" ? html`<span class="faint">(empty)</span>` : html`<bdi>${text}</bdi>`;
}
