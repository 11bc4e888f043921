// A store with a folder for files, and commands on both.

import { writeFileSync } from "node:fs";
import type { engines } from "./engines.ts";
import { type CommandResult, runCommand, TemporaryFolder } from "./server.ts";
import { exported, storeLines } from "./stored-plants.ts";

/** Removes the store and its folder when it goes out of scope. */
export class StoreFolder implements AsyncDisposable {
  readonly folder = new TemporaryFolder();
  readonly database: string;
  readonly #store: AsyncDisposable | undefined;

  /** Creates the store, of SQLite unless an engine is given, with plants from lines of NDJSON. */
  static async create(
    lines: readonly string[] = [],
    engine?: (typeof engines)[number],
  ): Promise<StoreFolder> {
    const created = new StoreFolder(await engine?.createTestStore());
    await storeLines(created.database, lines);
    return created;
  }

  private constructor(store: (AsyncDisposable & { readonly database: string }) | undefined) {
    this.#store = store;
    this.database = store?.database ?? `sqlite:${this.file("plants.db")}`;
  }

  file(name: string): string {
    return this.folder.file(name);
  }

  /** Writes a file, and returns its path. */
  write(name: string, content: string | Uint8Array): string {
    writeFileSync(this.file(name), content);
    return this.file(name);
  }

  /** Runs a command on the store, in the process of the test. */
  run(...args: readonly string[]): Promise<CommandResult> {
    return runCommand([...args, "--database", this.database]);
  }

  /** All plants of the store. */
  exported(): Promise<string> {
    return exported(this.database);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.folder[Symbol.dispose]();
    await this.#store?.[Symbol.asyncDispose]();
  }
}
