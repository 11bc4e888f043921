// Text for people: colours by the environment, and escapes.

import { expect, test } from "bun:test";
import { hasColours, terminalLines } from "../../../src/process/output.ts";

test.each([
  [{}, true],
  [{ TERM: "xterm-256color" }, true],
  [{ NO_COLOR: "" }, true],
  [{ NO_COLOR: "1" }, false],
  [{ NO_COLOR: "0" }, false],
  [{ TERM: "dumb" }, false],
])("a terminal with %p has colours: %p", (environment, colours) => {
  expect(hasColours(true, environment)).toBe(colours);
  expect(hasColours(false, environment)).toBe(false);
});

test("stored text on a terminal has no control characters, and JSON keeps its meaning", () => {
  const plant = { name: "a\u009b31m\u202eb\u2028\u007f\u0085", tag: "植物 🌱\t" };
  const line = `${JSON.stringify(plant)}\n`;
  expect(terminalLines(line)).toBe(
    '{"name":"a\\u009b31m\\u202eb\\u2028\\u007f\\u0085","tag":"植物 🌱\\t"}\n',
  );
  expect(JSON.parse(terminalLines(line))).toEqual(plant);
  expect(terminalLines('id\tname\n1\t"a\nb\x1b[2J"\r\n')).toBe('id\tname\n1\t"a\nb\\u001b[2J"\\u000d\n');
});
