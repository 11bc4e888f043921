// Standard streams that were closed when the program was started. bin/plantstore handles them itself; an executable has no such script.

import { closeSync, openSync, readFileSync } from "node:fs";

/** O_CLOEXEC of Linux on every processor that Bun has a runtime for. */
const closeOnExec = 0o2_000_000;

/**
 * Makes the use of a closed standard input or output fail with EBADF. Bun opens /dev/null for reading and writing in their place,
 * which would take a result unseen. They are opened again the wrong way round: input for writing, output for
 * reading. Called before any other file is opened, so that each gets its own number again. Does nothing where there is no /proc.
 */
export function failClosedStreams(): void {
  for (const [fd, wrongMode] of [
    [0, "w"],
    [1, "r"],
  ] as const) {
    if (!openedByBun(fd)) continue;
    closeSync(fd);
    openSync("/dev/null", wrongMode);
  }
}

/** Whether Bun opened a stream: what the program was started with cannot be close-on-exec, or it would not be open. */
function openedByBun(fd: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch (error) {
    // Not Linux.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
