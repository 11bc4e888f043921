// Words for a shell, which a contract may name.

import { expect, test } from "bun:test";
import { shellWord } from "../../../src/base/shell.ts";

test("a word is quoted where the shell would read code in it", () => {
  expect(shellWord("https://example.com/v1/plants")).toBe("https://example.com/v1/plants");
  expect(shellWord("$(id)")).toBe("'$(id)'");
  expect(shellWord("it's; id")).toBe(`'it'\\''s; id'`);
});
