// The processes of a session, by which those that a test has started can be found after their parents have ended.

import { eventually } from "./eventually.ts";
import { programPath } from "./programs.ts";

/** The processes of a session that have not ended: those that its leader has started, and those that these have. */
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
