// Markup, and the formats of numbers, times, sizes and untrusted text.

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

// toLocaleString makes a format for each call: 35 ms for the times of 50 rows.
const timeFormat = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const exactTimeFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "medium" });
const dayAndMinute = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" } as const;
const dateFormat = new Intl.DateTimeFormat("en-GB", dayAndMinute);
const dateFormatWithYear = new Intl.DateTimeFormat("en-GB", { year: "numeric", ...dayAndMinute });

/** @param time as text, or in milliseconds since the epoch. */
export function formatTime(time: string | number) {
  return timeFormat.format(new Date(time));
}

/** The day and the minute, with the year unless it is this one. */
export function formatDate(iso: string) {
  const time = new Date(iso);
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return html`<time datetime=${iso}>${(isThisYear ? dateFormat : dateFormatWithYear).format(time)}</time>`;
}

/**
 * Text that a client or another operator has chosen. The bdi element keeps its bidirectional
 * characters from reordering the text around it.
 */
export function untrustedText(text: string) {
  return text === "" ? html`<span class="faint">(empty)</span>` : html`<bdi>${text}</bdi>`;
}

/** A span begins where the one below it would be rounded to it: 59.6 minutes are an hour. */
const spans: [seconds: number, from: number, unit: "day" | "hour" | "minute"][] = [
  [86_400, 84_600, "day"],
  [3_600, 3_570, "hour"],
  [60, 60, "minute"],
];

const spanFormat = new Intl.RelativeTimeFormat("en-US");

/** Such as "1 plant" and "1,200 plants". */
export function formatCount(count: number, name: string) {
  return `${count.toLocaleString("en-US")} ${name}${count === 1 ? "" : "s"}`;
}

/** How long ago, or in what time, in the largest unit, with the exact time as a tooltip. */
export function relativeTime(iso: string) {
  const seconds = (Date.parse(iso) - Date.now()) / 1_000;
  const span = spans.find(([, from]) => Math.abs(seconds) >= from);
  const short = seconds > 0 ? "in less than a minute" : "less than a minute ago";
  const text = span === undefined ? short : spanFormat.format(Math.round(seconds / span[0]), span[2]);
  return html`<time datetime=${iso} title=${exactTime(iso)}>${text}</time>`;
}

export function exactTime(iso: string) {
  return exactTimeFormat.format(new Date(iso));
}

export function formatBytes(bytes: number) {
  const [unit, name] =
    bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : bytes >= 1e3 ? [1e3, "kB"] : [1, "bytes"];
  const value = bytes / unit;
  return `${value >= 100 || unit === 1 ? Math.round(value) : value.toFixed(1)} ${name}`;
}

export function formatMs(ms: number) {
  return ms >= 1_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : ms >= 10
      ? `${Math.round(ms)} ms`
      : `${ms.toFixed(1)} ms`;
}
