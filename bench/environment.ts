// The environment of a measurement, without which results cannot be compared.

import { availableParallelism, cpus, loadavg, release } from "node:os";

export type Environment = ReturnType<typeof readEnvironment>;

/**
 * Call it before the first run, for the load of the last minute. Throws if the stores would be on a
 * file system in memory, where an fsync is free and makes nothing durable.
 */
export function readEnvironment(folder: string) {
  const fileSystem = outputOf(["df", "--output=fstype", folder]).split("\n").at(-1) ?? "unknown";
  if (["tmpfs", "ramfs"].includes(fileSystem))
    throw new Error(`the temporary folder is in memory (${fileSystem}); set TMPDIR to a folder on a disk`);
  const processor = cpus()[0]?.model ?? "unknown";
  return {
    date: new Date().toISOString().slice(0, 19).concat("Z"),
    commit: readCommit(),
    machine: { processor, cores: availableParallelism(), kernel: release(), fileSystem },
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

/** Abbreviated, with "-dirty" if anything but results and their page is not committed. */
function readCommit(): string {
  const git = ["git", "-C", new URL("..", import.meta.url).pathname];
  const hash = outputOf([...git, "rev-parse", "--short", "HEAD"]);
  const ignored = [":!bench/results", ":!docs/benchmarks.md"];
  // Without optional locks, so that another git at work in the same checkout is not disturbed.
  const status = outputOf([...git, "--no-optional-locks", "status", "--porcelain", "--", ".", ...ignored]);
  return status === "" ? hash : `${hash}-dirty`;
}

function outputOf(command: readonly string[]): string {
  return Bun.spawnSync([...command])
    .stdout.toString()
    .trim();
}
