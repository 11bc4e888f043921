// When tokens were last used: noted in memory with every request, and stored to the minute.

import type { TokenRecord, TokenUse } from "../store/token-store.ts";

const minuteMs = 60_000;

/** A token that a server knows. To note its use costs a request one assignment, and the store nothing. */
export interface KnownToken {
  record: TokenRecord;
  /** When this server last accepted it, in milliseconds since the epoch; -Infinity if it never has. */
  usedAt: number;
}

/** The beginning of the minute that a moment lies in. */
export function minuteOf(moment: number): number {
  return Math.floor(moment / minuteMs) * minuteMs;
}

/** The uses that are later, to the minute, than what the store has. */
export function usesToRecord(known: Iterable<KnownToken>): TokenUse[] {
  const uses: TokenUse[] = [];
  for (const { record, usedAt } of known) {
    const minute = minuteOf(usedAt);
    if (minute > (record.lastUsedAt ?? Number.NEGATIVE_INFINITY)) uses.push({ hash: record.hash, minute });
  }
  return uses;
}
