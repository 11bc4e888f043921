// Standard streams that were closed at the start of an executable; bin/plantstore has its own way.

import { closeSync, openSync, readFileSync } from "node:fs";

/** O_CLOEXEC of Linux on every processor that Bun has a runtime for. */
const closeOnExec = 0o2_000_000;

/**
 * Makes the use of a closed standard input or output fail with EBADF. Bun replaces them with
 * /dev/null, which would swallow a result. They are reopened before any other file, so that each
 * gets its number: input write-only, output read-only. Does nothing without /proc.
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

/** Whether Bun opened a stream: one that was inherited cannot be close-on-exec. */
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
