// Groups and sessions of processes, by which a test ends or finds all that it has started;
// processor time.

import { eventually } from "./eventually.ts";
import { programPath } from "./programs.ts";

/**
 * The processor time that a call takes, in milliseconds: unlike its duration, it does not grow with
 * what else runs on the machine.
 */
export function processorMs(call: () => void): number {
  const before = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
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
