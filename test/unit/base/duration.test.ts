// Durations, dates and times as operators write them.

import { expect, test } from "bun:test";
import { parseExpiry, parseSince, parseTime } from "../../../src/base/duration.ts";

const now = Date.UTC(2026, 10, 27, 12);
const day = 86_400_000;

test.each([
  ["90d", now + 90 * day],
  ["2027-01-31", Date.UTC(2027, 0, 31)],
  ["2026-11-27T12:01Z", now + 60_000],
  ["2026-11-27T12:00:01Z", now + 1_000],
  ["2026-11-27", undefined],
  ["0s", undefined],
  ["2126-11-29", undefined],
  ["2027-02-29", undefined],
  ["2027-13-01", undefined],
  ["2027-01-31T12:00", undefined],
  ["tomorrow", undefined],
])("a token that expires at %s ends at %p", (text, time) => {
  expect(parseExpiry(text, now)).toBe(time);
});

test.each([
  ["7d", now - 7 * day],
  ["2026-11-01", Date.UTC(2026, 10, 1)],
  ["2999-01-01", Date.UTC(2999, 0, 1)],
  ["7", undefined],
])("since %s is from %p on", (text, time) => {
  expect(parseSince(text, now)).toBe(time);
});

test("a time is in UTC, whatever the zone of the machine", () => {
  expect(parseTime("2026-11-27T12:00Z")).toBe(now);
  expect(parseTime("2026-11-27T12:00:00.012Z")).toBe(now + 12);
});
