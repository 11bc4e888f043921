// One run: what is asked for and what was measured, whichever program makes the load.

import type { CpuTime } from "./accounting.ts";

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  /** From where ids are taken, see firstIds. */
  readonly firstId: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the program that made the load. */
  readonly loadCpu: CpuTime;
  /** Transactions that wrote, where the database tells. */
  readonly transactions?: number;
}

/** Ids that a run may use up: at 100,000 a second more than a quarter of an hour. */
export const idsPerRun = 10 ** 8;

/** The longest run that cannot use up its ids. */
export const runSecondsMax = 600;

/**
 * The first id of one run after the other, so that no id is sent twice: a create, never a replay. All have 13
 * digits, which keeps requests the same length and ids exact as double-precision numbers.
 */
export function* firstIds(): Generator<number, never> {
  for (let id = 10 ** 12; id < 10 ** 13; id += idsPerRun) yield id;
  throw new Error("The ids of 13 digits are used up");
}
