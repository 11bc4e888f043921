// Processes that are started as a group of their own, so that they can be ended with everything that they have started.

/** Kills the leader of a process group and all of the group, and waits for the leader. */
export async function killGroup(leader: Pick<Bun.Subprocess, "pid" | "exited">): Promise<void> {
  try {
    process.kill(-leader.pid, "SIGKILL");
  } catch (error) {
    // All of them have ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  await leader.exited;
}
