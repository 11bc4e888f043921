// Reads how much memory a process has taken.

import { readFileSync } from "node:fs";

/** The largest resident memory of a process so far. */
export function peakBytes(pid: number): number {
  const [, kB] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kB) * 1_024;
}
