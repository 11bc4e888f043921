// The examples of docs/sandbox-in-tests.md, which are in examples/sandbox.

import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** The text of the page. */
export const sandboxPage = await Bun.file(join(root, "docs/sandbox-in-tests.md")).text();

export class SandboxExample {
  /** The name of the test runner. */
  readonly name: string;
  /** The documented command; undefined where there is none. */
  readonly command: string | undefined;
  readonly #folder: string;

  constructor(name: string, folder: string, command: string | undefined) {
    this.name = name;
    this.command = command;
    this.#folder = join(root, folder);
  }

  /** The names of its files. */
  get files(): string[] {
    return readdirSync(this.#folder);
  }

  read(file: string): string {
    return readFileSync(join(this.#folder, file), "utf8");
  }

  copyTo(folder: string): void {
    cpSync(this.#folder, folder, { recursive: true });
  }
}

/** The examples in the order of the page's table. */
export const sandboxExamples: readonly SandboxExample[] = rowsOf(sandboxPage, /^\| \[/).map(
  ([example = "", commandCell = ""]) => {
    const [, name = "", folder = ""] = /^\[(.+)\]\(\.\.\/(examples\/sandbox\/\w+)\)/.exec(example) ?? [];
    const [, command] = /^`(.+)`$/.exec(commandCell) ?? [];
    return new SandboxExample(name, folder, command);
  },
);

/** The example of a test runner. Throws if there is none. */
export function exampleOf(name: string): SandboxExample {
  const example = sandboxExamples.find((each) => each.name === name);
  if (example === undefined) throw new Error(`docs/sandbox-in-tests.md has no example of ${name}`);
  return example;
}
