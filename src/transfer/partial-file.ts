// A file that is made next to another, whose name it gets when it is whole.

import { closeSync, openSync, renameSync, rmSync } from "node:fs";
import { sidecarFilesAt } from "../store/sqlite/files.ts";

/** Only its owner can read it. A killed process leaves it behind. */
export class PartialFile implements Disposable {
  readonly path: string;
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
    // The random name and O_EXCL defeat a file or link that another user has put there.
    this.path = `${target}.${crypto.randomUUID().slice(0, 8)}.partial`;
    closeSync(openSync(this.path, "wx", 0o600));
  }

  /** Gives it the name of the target, which it replaces. */
  rename(): void {
    renameSync(this.path, this.#target);
  }

  [Symbol.dispose](): void {
    // A database that is not whole has others beside it.
    for (const file of [this.path, ...sidecarFilesAt(this.path)]) rmSync(file, { force: true });
  }
}
