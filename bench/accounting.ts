// What the kernel has accounted to processes: processor time by thread or by party, and resident memory.

import { readdirSync, readFileSync } from "node:fs";

/** Times in /proc are in ticks of a hundredth of a second, on every machine that Bun runs on. */
const usPerTick = 10_000;

export interface CpuTime {
  readonly userUs: number;
  readonly systemUs: number;
}

/** The processor time of a process, or of several, so far. */
export interface CpuReading {
  /** Of the whole, with threads that have ended. */
  readonly total: CpuTime;
  /** Of each part, a thread or a party, by its id. */
  readonly parts: ReadonlyMap<string, CpuTime & { readonly name: string }>;
}

/** What was used between two readings: in total, and by the names of the parts. */
export interface CpuUse {
  readonly total: CpuTime;
  readonly byName: Readonly<Record<string, CpuTime>>;
}

export const noCpuTime: CpuTime = { userUs: 0, systemUs: 0 };

/** Of one process, by thread. */
export function readCpu(pid: number): CpuReading {
  const parts = new Map<string, CpuTime & { name: string }>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const thread = readStat(`/proc/${pid}/task/${id}/stat`);
    if (thread !== undefined) parts.set(id, thread);
  }
  return { total: readProcess(pid), parts };
}

/** Of all processes that have part in the work, by party; each counts with its children. */
export function readPartiesCpu(parties: Readonly<Record<string, readonly number[]>>): CpuReading {
  const parts = new Map<string, CpuTime & { name: string }>();
  for (const [name, pids] of Object.entries(parties))
    parts.set(name, { name, ...pids.map(familyCpu).reduce(plus, noCpuTime) });
  return { total: [...parts.values()].reduce(plus, noCpuTime), parts };
}

export function cpuBetween(before: CpuReading, after: CpuReading): CpuUse {
  const byName: Record<string, CpuTime> = {};
  for (const [id, part] of after.parts) {
    const used = minus(part, before.parts.get(id) ?? noCpuTime);
    byName[part.name] = plus(byName[part.name] ?? noCpuTime, used);
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

/** A process with its children, those that have ended included: PostgreSQL has a process for each connection. */
function familyCpu(pid: number): CpuTime {
  for (;;) {
    const parent = readProcess(pid);
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
    const children = pids.map((child) => readStat(`/proc/${child}/stat`) ?? noCpuTime);
    // A child that ends meanwhile would be missed, or counted twice.
    if (Bun.deepEquals(readProcess(pid).ended, parent.ended))
      return [...children, parent.ended].reduce(plus, parent);
  }
}

function readProcess(pid: number): Stat {
  const process = readStat(`/proc/${pid}/stat`);
  if (process === undefined) throw new Error(`the process ${pid} has ended`);
  return process;
}

interface Stat extends CpuTime {
  readonly name: string;
  /** Of children that have ended. */
  readonly ended: CpuTime;
}

/** Reads a stat file, proc_pid_stat(5); nothing if the process or thread ended since it was listed. */
function readStat(path: string): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  // A name may hold spaces and parentheses, so fields are counted from its end: utime, stime, cutime and cstime are the
  // 14th to the 17th.
  const nameEnd = text.lastIndexOf(")");
  const fields = text.slice(nameEnd + 2).split(" ");
  const [userUs = 0, systemUs = 0, endedUserUs = 0, endedSystemUs = 0] = fields
    .slice(11, 15)
    .map((ticks) => Number(ticks) * usPerTick);
  return {
    name: text.slice(text.indexOf("(") + 1, nameEnd),
    userUs,
    systemUs,
    ended: { userUs: endedUserUs, systemUs: endedSystemUs },
  };
}
