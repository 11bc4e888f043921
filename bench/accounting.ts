// What the kernel has accounted to a process: processor time by thread, and resident memory.

import { readdirSync, readFileSync } from "node:fs";

/** Times in /proc are in ticks of a hundredth of a second, on every machine that Bun runs on. */
const usPerTick = 10_000;

export interface CpuTime {
  readonly userUs: number;
  readonly systemUs: number;
}

/** The processor time of a process so far. */
export interface CpuReading {
  /** Of the whole process, with its threads that have ended. */
  readonly total: CpuTime;
  /** Of each thread, by its id. */
  readonly threads: ReadonlyMap<string, CpuTime & { readonly name: string }>;
}

/** What a process used between two readings: in total, and by thread name. */
export interface CpuUse {
  readonly total: CpuTime;
  readonly byName: Readonly<Record<string, CpuTime>>;
}

export const noCpuTime: CpuTime = { userUs: 0, systemUs: 0 };

export function readCpu(pid: number): CpuReading {
  const threads = new Map<string, CpuTime & { name: string }>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const thread = readStat(`/proc/${pid}/task/${id}/stat`);
    if (thread !== undefined) threads.set(id, thread);
  }
  const total = readStat(`/proc/${pid}/stat`);
  if (total === undefined) throw new Error(`the process ${pid} has ended`);
  return { total, threads };
}

export function cpuBetween(before: CpuReading, after: CpuReading): CpuUse {
  const byName: Record<string, CpuTime> = {};
  for (const [id, thread] of after.threads) {
    const used = minus(thread, before.threads.get(id) ?? noCpuTime);
    byName[thread.name] = plus(byName[thread.name] ?? noCpuTime, used);
  }
  return { total: minus(after.total, before.total), byName };
}

export function plus(one: CpuTime, other: CpuTime): CpuTime {
  return { userUs: one.userUs + other.userUs, systemUs: one.systemUs + other.systemUs };
}

/** The difference, but at least 0: the kernel rounds a process and its threads each by itself. */
export function minus(one: CpuTime, other: CpuTime): CpuTime {
  return {
    userUs: Math.max(0, one.userUs - other.userUs),
    systemUs: Math.max(0, one.systemUs - other.systemUs),
  };
}

/** Resident memory at this moment. */
export function residentMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`the kernel does not tell the memory of process ${pid}`);
  return (Number(kib) * 1_024) / 1e6;
}

/** Reads a stat file, proc_pid_stat(5); nothing if the thread ended since it was listed. */
function readStat(path: string): (CpuTime & { name: string }) | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  // A name may hold spaces and parentheses, so fields are counted from its end. utime is the 14th, stime the 15th.
  const nameEnd = text.lastIndexOf(")");
  const fields = text.slice(nameEnd + 2).split(" ");
  return {
    name: text.slice(text.indexOf("(") + 1, nameEnd),
    userUs: Number(fields[11]) * usPerTick,
    systemUs: Number(fields[12]) * usPerTick,
  };
}
