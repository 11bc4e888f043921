// Markup, and the formats of numbers, dates and untrusted text.

import { h, htm } from "./library.js";

/** Markup as a template. Interpolated strings become text, never markup. */
export const html = htm.bind(h);

/** Handles an event of an input by its value. */
export function onValue(handle: (value: string) => unknown) {
  return (event: { currentTarget: { value: string } }) => handle(event.currentTarget.value);
}

/** Handles a form that is submitted, in place of the browser. */
export function onSubmit(handle: (form: HTMLFormElement) => unknown) {
  return (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    handle(event.currentTarget);
  };
}

/** The texts of a form's fields, by their names. */
export function textsOf(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries(new FormData(form) as unknown as Iterable<[string, string]>);
}

const integerFormat = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const decimalFormat = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

export function formatNumber(value: number) {
  return value >= 100 ? integerFormat.format(value) : decimalFormat.format(value);
}

/** @param time as text, or in milliseconds since the epoch. */
export function formatTime(time: string | number) {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** The day and the minute, with the year unless it is this one. */
export function formatDate(iso: string) {
  const isThisYear = new Date(iso).getFullYear() === new Date().getFullYear();
  const text = new Date(iso).toLocaleString("en-GB", {
    ...(!isThisYear && { year: "numeric" }),
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  return html`<time datetime=${iso}>${text}</time>`;
}

/**
 * Text that a client or another operator has chosen. The bdi element keeps its bidirectional
 * characters from reordering the text around it.
 */
export function untrustedText(text: string) {
  return text === "" ? html`<span class="faint">(empty)</span>` : html`<bdi>${text}</bdi>`;
}
