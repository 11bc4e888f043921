// When tokens were last used: noted in memory with every request, and stored to the minute.

import type { TokenRecord, TokenUse } from "../store/token-store.ts";

const minuteMs = 60_000;

/** A token that a server knows. To note its use costs a request one assignment, and the store nothing. */
export interface KnownToken {
  record: TokenRecord;
  /** When this server last accepted it, in milliseconds since the epoch; -Infinity if it never has. */
  usedAt: number;
  /** The latest minute of use that the store has for certain; -Infinity if it has none. */
  recordedMinute: number;
}

/** A token that this server has just read, and has not accepted yet. */
export function newlyKnown(record: TokenRecord): KnownToken {
  return {
    record,
    usedAt: Number.NEGATIVE_INFINITY,
    recordedMinute: record.lastUsedAt ?? Number.NEGATIVE_INFINITY,
  };
}

/** The beginning of the minute that a moment lies in. */
export function minuteOf(moment: number): number {
  return Math.floor(moment / minuteMs) * minuteMs;
}

/** The last use, if it is later, to the minute, than what the store has. */
export function useToRecord({ record, usedAt, recordedMinute }: KnownToken): TokenUse | undefined {
  const minute = minuteOf(usedAt);
  return minute > recordedMinute ? { hash: record.hash, minute } : undefined;
}
