// Groups and sessions of processes, by which a test ends or finds all that it has started;
// processor time.

import { eventually } from "./eventually.ts";
import { programPath } from "./programs.ts";

/**
 * Throws if a call takes longer, in processor time: unlike its duration, that grows little with what
 * else runs on the machine. A garbage collection or a compilation slows one of three calls; what is
 * not linear slows each.
 */
export function expectProcessorMs(msMax: number, call: () => void): void {
  const times: number[] = [];
  while (times.length < 3) {
    const before = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms < msMax) return;
    times.push(ms);
  }
  throw new Error(`processor time over ${msMax} ms: ${times.join(", ")}`);
}

/** Sends a signal to a process, or by a negative number to a group, unless it has ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Kills the leader of a process group and all of the group, and waits for the leader. */
export async function killGroup(leader: Pick<Bun.Subprocess, "pid" | "exited">): Promise<void> {
  sendSignal(-leader.pid, "SIGKILL");
  await leader.exited;
}

/** The processes of a session that have not ended: its leader's children, and theirs. */
export function sessionOf(leader: number): number[] {
  const { stdout } = Bun.spawnSync([programPath("ps"), "-o", "pid=,stat=", "-s", String(leader)]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => /^\s*\d+ +[^Z]/.test(line))
    .map((line) => Number.parseInt(line, 10));
}

/** Waits until no process of a session is left. */
export async function sessionEnd(leader: number): Promise<void> {
  await eventually(
    "the processes have ended",
    () => sessionOf(leader),
    (processes) => processes.length === 0,
  );
}
