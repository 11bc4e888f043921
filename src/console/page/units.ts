// Times, sizes and counts in plain words.

import { html } from "./format.ts";

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
  return new Date(iso).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "medium" });
}

export function formatBytes(bytes: number) {
  const [unit, name] =
    bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : bytes >= 1e3 ? [1e3, "kB"] : [1, "bytes"];
  const value = bytes / unit;
  return `${value >= 100 || unit === 1 ? Math.round(value) : value.toFixed(1)} ${name}`;
}

/**
 * Such as "42 %": 100 only for the whole.
 *
 * @param share from 0 to 1.
 */
export function percent(share: number) {
  return `${Math.floor(share * 100)} %`;
}

/** A length of time while something lasts: "12 s", "3 min". */
export function formatDuration(seconds: number) {
  return seconds < 100 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}

export function formatMs(ms: number) {
  return ms >= 1_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : ms >= 10
      ? `${Math.round(ms)} ms`
      : `${ms.toFixed(1)} ms`;
}
