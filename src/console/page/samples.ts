// Keeps the samples that the page has of the server.

import type { RecentSamples } from "../reads/recent-samples.ts";

export type History = ReturnType<RecentSamples["since"]>;

export const emptyHistory: History = { first: 0, samples: [], sampleMs: 5_000, samplesMax: 720 };

/** @param newer Its samples replace those with the same numbers. */
export function appendSamples(history: History, newer: History): History {
  const end = history.first + history.samples.length;
  // After a long pause, or a clock that was set back, it starts again.
  if (history.samples.length === 0 || newer.first > end || newer.first < history.first) return newer;
  const all = [...history.samples.slice(0, newer.first - history.first), ...newer.samples].slice(
    -newer.samplesMax,
  );
  return { ...newer, first: newer.first + newer.samples.length - all.length, samples: all };
}
