// A configuration file gives back what was written into it, in each of the forms that a line may have. The runtime's
// parser reads the values, and a new version of it may read them otherwise.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { readConfigFile } from "../../../src/config/config-file.ts";
import { settings } from "../../../src/config/settings.ts";
import { TemporaryFolder } from "../../support/server.ts";

const names = Object.values(settings)
  .map(({ environment }) => environment)
  .filter((name) => name !== settings.config.environment);

const space = fc.stringMatching(/^[ \t]{0,3}$/);
const comment = fc.stringMatching(/^(?:[ \t]#[ -~é]{0,20})?$/);

/** A value as it may stand in a file, and what it means. */
const value = fc.oneof(
  fc
    .stringMatching(/^[^\s"'`#\0](?:[^\r\n\v\f#\0]*[^\s#\0])?$/)
    .map((text) => ({ written: text, meant: text })),
  quotedBy("'"),
  quotedBy("`"),
  quotedBy('"').filter(({ meant }) => !meant.includes("\\")),
  fc.constant({ written: "", meant: "" }),
);

function quotedBy(quote: string): fc.Arbitrary<{ written: string; meant: string }> {
  return fc
    .string({ unit: fc.oneof(fc.constantFrom("\n", "#", "=", "\\", "$", "'", '"', "`", " "), fc.string()) })
    .filter((text) => !text.includes(quote) && !text.endsWith("\\"))
    .map((text) => ({ written: `${quote}${text}${quote}`, meant: text }));
}

const line = fc
  .record({
    indent: space,
    word: fc.constantFrom("", "export "),
    before: space,
    after: space,
    value,
    comment,
  })
  .map(({ indent, word, before, after, value: { written, meant }, comment }) => ({
    write: (name: string) => `${indent}${word}${name}${before}=${after}${written}${comment}`,
    meant,
  }));

const file = fc.record({
  mark: fc.constantFrom("", "\uFEFF"),
  end: fc.constantFrom("\n", "\r\n", "\n\n", "\n# it's a comment\n \t\n"),
  lines: fc.array(line, { maxLength: names.length }),
});

test("what is written is what is read", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plantstore.env");
  const read = fc.property(file, ({ mark, end, lines }) => {
    writeFileSync(path, mark + lines.map(({ write }, index) => write(names[index] ?? "")).join(end));
    const expected = lines.map(({ meant }, index): [string, string] => [names[index] ?? "", meant]);
    expect([...readConfigFile(path, "--config").values]).toEqual(expected);
  });
  fc.assert(read, { numRuns: 2_000 });
});
