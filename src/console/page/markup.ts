// Writes markup: templates, events and forms, text that is not trusted, and times.

import { exactTime } from "./formats.ts";
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

/**
 * Text that a client or another operator has chosen. The bdi element keeps its bidirectional
 * characters from reordering the text around it.
 */
export function untrustedText(text: string) {
  return text === "" ? html`<span class="faint">(empty)</span>` : html`<bdi>${text}</bdi>`;
}

const dayAndMinute = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" } as const;
const dateFormat = new Intl.DateTimeFormat("en-GB", dayAndMinute);
const dateFormatWithYear = new Intl.DateTimeFormat("en-GB", { year: "numeric", ...dayAndMinute });

/** The day and the minute, with the year unless it is this one. */
export function formatDate(iso: string) {
  const time = new Date(iso);
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return html`<time datetime=${iso}>${(isThisYear ? dateFormat : dateFormatWithYear).format(time)}</time>`;
}

/** A span begins where the one below it would be rounded to it: 59.6 minutes are an hour. */
const spans: [seconds: number, from: number, unit: "day" | "hour" | "minute"][] = [
  [86_400, 84_600, "day"],
  [3_600, 3_570, "hour"],
  [60, 60, "minute"],
];

const spanFormat = new Intl.RelativeTimeFormat("en-US");

/** How long ago, or in what time, in the largest unit, with the exact time as a tooltip. */
export function relativeTime(iso: string) {
  const seconds = (Date.parse(iso) - Date.now()) / 1_000;
  const span = spans.find(([, from]) => Math.abs(seconds) >= from);
  const short = seconds > 0 ? "in less than a minute" : "less than a minute ago";
  const text = span === undefined ? short : spanFormat.format(Math.round(seconds / span[0]), span[2]);
  return html`<time datetime=${iso} title=${exactTime(iso)}>${text}</time>`;
}
