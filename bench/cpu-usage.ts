// Processor time by thread or group of processes, and resident memory, from the kernel.

import { readdirSync, readFileSync } from "node:fs";

/** Times in /proc are in ticks of a hundredth of a second, on every machine that Bun runs on. */
const usPerTick = 10_000;

export interface CpuTime {
  readonly userUs: number;
  readonly systemUs: number;
}

/** Processor time so far. */
export interface CpuReading {
  /** With threads that have ended. */
  readonly total: CpuTime;
  /** By the id of the thread or group. */
  readonly parts: ReadonlyMap<string, CpuTime & { readonly name: string }>;
}

/** Processor time between two readings. */
export interface CpuUse {
  readonly total: CpuTime;
  /** Threads of the same name are added up. */
  readonly byName: Readonly<Record<string, CpuTime>>;
}

const zero: CpuTime = { userUs: 0, systemUs: 0 };

/** A process, by thread. */
export function readThreads(pid: number): CpuReading {
  const parts = new Map<string, CpuTime & { name: string }>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const thread = readStat(`/proc/${pid}/task/${id}/stat`);
    if (thread !== undefined) parts.set(id, thread);
  }
  return { total: readFamily(pid), parts };
}

/** Groups of processes, each process with its children. */
export function readGroups(groups: Readonly<Record<string, readonly number[]>>): CpuReading {
  const parts = new Map<string, CpuTime & { name: string }>();
  for (const [name, pids] of Object.entries(groups)) parts.set(name, { name, ...sum(pids.map(readFamily)) });
  return { total: sum([...parts.values()]), parts };
}

export function cpuBetween(before: CpuReading, after: CpuReading): CpuUse {
  const byName: Record<string, CpuTime> = {};
  for (const [id, part] of after.parts) {
    const used = minus(part, before.parts.get(id) ?? zero);
    byName[part.name] = sum([byName[part.name] ?? zero, used]);
  }
  return { total: minus(after.total, before.total), byName };
}

function sum(times: readonly CpuTime[]): CpuTime {
  return times.reduce<CpuTime>(
    (one, other) => ({ userUs: one.userUs + other.userUs, systemUs: one.systemUs + other.systemUs }),
    zero,
  );
}

/** The difference, but at least 0: the kernel rounds a process and its threads each by itself. */
function minus(one: CpuTime, other: CpuTime): CpuTime {
  const difference = sum([one, { userUs: -other.userUs, systemUs: -other.systemUs }]);
  return { userUs: Math.max(0, difference.userUs), systemUs: Math.max(0, difference.systemUs) };
}

/** Resident memory now; 0 if the process has ended. */
export function residentMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024) / 1e6;
  } catch {
    return 0;
  }
}

/** A process with its children, also ended ones: PostgreSQL has a process for each connection. */
function readFamily(pid: number): CpuTime {
  for (;;) {
    const parent = readProcess(pid);
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
    const children = pids.map((child) => readStat(`/proc/${child}/stat`) ?? zero);
    // A child that ends in between would be missed, or counted twice.
    if (Bun.deepEquals(readProcess(pid).ended, parent.ended)) return sum([...children, parent.ended, parent]);
  }
}

function readProcess(pid: number) {
  const process = readStat(`/proc/${pid}/stat`);
  if (process === undefined) throw new Error(`the process ${pid} has ended`);
  return process;
}

/** Reads a stat file, proc_pid_stat(5); undefined if the process or thread has ended. */
function readStat(path: string) {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  // A name may hold spaces and parentheses, so fields are counted from its end: utime, stime,
  // cutime and cstime are the 14th to the 17th. The last two are those of ended children.
  const nameEnd = text.lastIndexOf(")");
  const ticks = text
    .slice(nameEnd + 2)
    .split(" ")
    .slice(11, 15);
  const [userUs = 0, systemUs = 0, endedUserUs = 0, endedSystemUs = 0] = ticks.map(
    (count) => Number(count) * usPerTick,
  );
  const ended = { userUs: endedUserUs, systemUs: endedSystemUs };
  return { name: text.slice(text.indexOf("(") + 1, nameEnd), userUs, systemUs, ended };
}
