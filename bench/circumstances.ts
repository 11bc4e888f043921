// Under what circumstances figures came about: commit, machine, versions. Figures without them mean little later.

import { availableParallelism, cpus, loadavg, release } from "node:os";

export interface Circumstances {
  readonly date: string;
  /** Abbreviated, with "-dirty" if there were changes that are not committed. */
  readonly commit: string;
  readonly machine: {
    readonly processor: string;
    readonly cores: number;
    readonly kernel: string;
    /** The file system that the stores were on. */
    readonly fileSystem: string;
  };
  /** The machine's load in the minute ahead of the benchmark: well above 0, and something else took its share. */
  readonly loadBefore: number;
  readonly versions: Readonly<Record<string, string>>;
}

/** To be called ahead of the first run, for the load. */
export function circumstances(folder: string, versions: Readonly<Record<string, string>>): Circumstances {
  return {
    date: new Date().toISOString(),
    commit: commit(),
    machine: {
      processor: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      kernel: release(),
      fileSystem: fileSystemOf(folder),
    },
    loadBefore: loadavg()[0] ?? 0,
    versions: { Bun: Bun.version, ...versions },
  };
}

/** Throws if the stores are on a file system in memory, where an fsync costs nothing and keeps nothing. */
export function assertOnDisk({ machine }: Circumstances): void {
  if (["tmpfs", "ramfs"].includes(machine.fileSystem))
    throw new Error(
      `the temporary folder is in memory (${machine.fileSystem}); set TMPDIR to a folder on a disk`,
    );
}

/** The circumstances as a list in Markdown. */
export function circumstancesText({ date, commit, machine, loadBefore, versions }: Circumstances): string {
  const versionTexts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `- ${date}, commit ${commit}`,
    `- ${machine.processor}, ${machine.cores} cores, Linux ${machine.kernel}, stores on ${machine.fileSystem}, load ${loadBefore.toFixed(2)} before the start`,
    `- ${versionTexts.join(", ")}`,
  ].join("\n");
}

/** The version that a program prints, wherever and with whatever exit code: wrk's is 1. */
export function printedVersion(command: readonly string[]): string {
  const text = outputOf(command);
  return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? "unknown";
}

/** The type of the file system that a folder is on, such as ext4. */
function fileSystemOf(folder: string): string {
  return outputOf(["df", "--output=fstype", folder]).trim().split("\n").at(-1) ?? "unknown";
}

function commit(): string {
  const cwd = import.meta.dir;
  const hash = outputOf(["git", "-C", cwd, "rev-parse", "--short", "HEAD"]).trim();
  // Without optional locks: looking must not get in the way of another git at work in the same checkout.
  const changes = outputOf(["git", "-C", cwd, "--no-optional-locks", "status", "--porcelain"]);
  return changes === "" ? hash : `${hash}-dirty`;
}

function outputOf(command: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...command]);
  return `${stdout}${stderr}`;
}
