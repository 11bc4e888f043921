// A control group of Linux that limits the memory of a process, with the pages of files that it has
// read or written.

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";

const root = "/sys/fs/cgroup";

export class MemoryGroup implements Disposable {
  /** A process that writes its id to this file is a member. */
  readonly members: string;
  readonly #path: string;

  /** Throws if this user or this machine cannot make a group. */
  constructor(bytesMax: number) {
    const isFirstVersion = existsSync(`${root}/memory`);
    this.#path = `${isFirstVersion ? `${root}/memory` : root}/plantstore-bench-${process.pid}`;
    this.members = `${this.#path}/cgroup.procs`;
    mkdirSync(this.#path);
    try {
      writeFileSync(
        `${this.#path}/${isFirstVersion ? "memory.limit_in_bytes" : "memory.max"}`,
        `${bytesMax}`,
      );
    } catch (error) {
      rmdirSync(this.#path);
      throw error;
    }
  }

  /** Call it when all members have ended. */
  [Symbol.dispose](): void {
    rmdirSync(this.#path);
  }
}
