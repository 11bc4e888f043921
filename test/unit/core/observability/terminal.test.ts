// The style of text for people, by the environment.

import { expect, test } from "bun:test";
import { terminalLines, textStyle } from "../../../../src/core/observability/terminal.ts";

test.each([
  [{}, true],
  [{ TERM: "xterm-256color" }, true],
  [{ NO_COLOR: "" }, true],
  [{ NO_COLOR: "1" }, false],
  [{ NO_COLOR: "0" }, false],
  [{ TERM: "dumb" }, false],
])("a terminal with %p has colours: %p", (environment, colours) => {
  expect(textStyle(true, environment).colours).toBe(colours);
  expect(textStyle(false, environment).colours).toBe(false);
});

test.each([
  [{}, true],
  [{ LANG: "de_DE.UTF-8" }, true],
  [{ LANG: "C.utf8" }, true],
  [{ LANG: "C" }, false],
  [{ LANG: "de_DE.ISO-8859-1" }, false],
  [{ LANG: "en_US.UTF-8", LC_ALL: "POSIX" }, false],
  [{ LANG: "C", LC_CTYPE: "C.UTF-8" }, true],
])("a terminal with the locale %p shows characters beyond ASCII: %p", (environment, unicode) => {
  expect(textStyle(true, environment).unicode).toBe(unicode);
  // A file is in UTF-8 wherever it was written.
  expect(textStyle(false, environment).unicode).toBe(true);
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
