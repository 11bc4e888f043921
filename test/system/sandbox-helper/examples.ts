// The examples of docs/sandbox-in-tests.md, which are in examples/sandbox.

import { join } from "node:path";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;

const sandboxPage = await Bun.file(join(root, "docs/sandbox-in-tests.md")).text();

/** The examples in the order of the page's table. */
export const sandboxExamples = rowsOf(sandboxPage, /^\| \[/).map(([example = "", commandCell = ""]) => {
  const [, name = "", folder = ""] = /^\[(.+)\]\(\.\.\/(examples\/sandbox\/\w+)\)/.exec(example) ?? [];
  return {
    /** The name of the test runner. */
    name,
    folder: join(root, folder),
    /** The documented command; undefined where there is none. */
    command: /^`(.+)`$/.exec(commandCell)?.[1],
  };
});

/** The example of a test runner. Throws if there is none. */
export function exampleOf(name: string): (typeof sandboxExamples)[number] {
  const example = sandboxExamples.find((each) => each.name === name);
  if (example === undefined) throw new Error(`docs/sandbox-in-tests.md has no example of ${name}`);
  return example;
}
