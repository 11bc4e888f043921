// Words for a shell: what a contract names is never run.

import { expect, test } from "bun:test";
import { shellWord, singleQuoted } from "../../../src/base/shell.ts";

const texts = [
  "$(id)",
  "`id`",
  "a'b",
  'a"b',
  "a\\b",
  "!x",
  "a b",
  "http://127.0.0.1:8080/a-b?c=d&e",
  "plain",
  "",
];

test.each(texts)("%j is one word with the same characters", (text) => {
  const words = text === "" ? `'' ${singleQuoted(text)}` : `${shellWord(text)} ${singleQuoted(text)}`;
  const { stdout } = Bun.spawnSync(["sh", "-c", `printf '%s\\n' ${words}`]);
  expect(stdout.toString()).toBe(`${text}\n${text}\n`);
});
