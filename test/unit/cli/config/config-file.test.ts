// The syntax of the file that --config names.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type ReadFile, readFileSystem } from "../../../../src/cli/config/sources.ts";
import { configurationError, configured, filesInMemory, usageError } from "../../../support/configuration.ts";
import { TemporaryFolder } from "../../../support/server.ts";

const path = "plantstore.env";
const args = ["--config", path];

/** The value of PLANTSTORE_HOST, which may be any text, in a file with this content. */
function hostIn(content: string | Uint8Array): unknown {
  return configured(args, {}, filesInMemory({ [path]: content })).get("PLANTSTORE_HOST")?.value;
}

/** The error of a file with this content. */
const errorOf = (content: string | Uint8Array) =>
  configurationError(args, {}, filesInMemory({ [path]: content }));

test("an empty value is a value", () => {
  for (const content of [
    "PLANTSTORE_BASE_PATH=",
    "PLANTSTORE_BASE_PATH=''",
    "PLANTSTORE_BASE_PATH= # none\n",
  ]) {
    const rows = configured(args, {}, filesInMemory({ [path]: content }));
    expect(rows.get("PLANTSTORE_BASE_PATH")).toEqual({ value: "", source: "config file" });
  }
  expect(errorOf("PLANTSTORE_HOST=\nPLANTSTORE_PORT=1")).toEqual(
    usageError(`${path}, line 1: PLANTSTORE_HOST: "" is empty; give at least one character`),
  );
});

test.each<[line: string, value: string]>([
  ["PLANTSTORE_HOST=a b", "a b"],
  [" export PLANTSTORE_HOST = a # a comment", "a"],
  ["PLANTSTORE_HOST='a#b' # a comment", "a#b"],
  ['PLANTSTORE_HOST="it\'s $HOME"', "it's $HOME"],
  ["PLANTSTORE_HOST=a#b", "a"],
  ["\uFEFFPLANTSTORE_HOST=a\r", "a"],
])("%j is %j", (line, value) => {
  expect(hostIn(`# it's a comment\n\n${line}\nPLANTSTORE_PORT=1\n`)).toBe(value);
});

test.each<[content: string, line: number]>([
  ["PLANTSTORE_PORT 8080", 1],
  ["PLANTSTORE_HOST=a\n\nnonsense\nPLANTSTORE_PORT=1", 3],
  ["=1", 1],
  ["export PLANTSTORE_PORT", 1],
  ['{\n  "port": 8080\n}', 1],
])("%j is an error with its line number", (content, line) => {
  expect(errorOf(content)).toEqual(
    usageError(`${path}, line ${line} is not NAME=value; put a value that contains # in single quotes`),
  );
});

const invalidNames: readonly [content: string, message: string][] = [
  ["PORT=1", "line 1: unknown setting PORT; did you mean PLANTSTORE_PORT?"],
  ["plantstore.port=1", "line 1: unknown setting plantstore.port; did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_PORT='1'\n\nPLANTSTORE_PORT=2", "line 3: PLANTSTORE_PORT is already set above"],
  ["PLANTSTORE_CONFIG=x", "line 1: PLANTSTORE_CONFIG is not allowed in a configuration file"],
  ["PLANTSTORE_TEST_URL=x", 'line 1: unknown setting PLANTSTORE_TEST_URL; "plantstore config" prints the'],
  ["__proto__=1", "line 1: unknown setting __proto__; "],
];
test.each(invalidNames)("%j is an error", (content, message) => {
  const error = errorOf(content);
  expect(error.exitCode).toBe(2);
  expect(error.message).toStartWith(`${path}, ${message}`);
});

const notText = "is not UTF-8 text; is it the right file?";
const tooLarge = "is larger than 1048576 bytes; is it the right file?";
const invalidFiles: readonly [what: string, content: string | Uint8Array, reason: string][] = [
  ["binary data", Uint8Array.from({ length: 5_000 }, (_, index) => (index * 97) % 256), notText],
  ["a zero byte", "PLANTSTORE_HOST=a\0b", notText],
  [
    "UTF-16, as some editors write it",
    new Uint8Array(Buffer.from("\uFEFFPLANTSTORE_PORT=1", "utf16le")),
    notText,
  ],
  ["a megabyte and a byte", "#".repeat(2 ** 20 + 1), tooLarge],
  ["ten megabytes", "PLANTSTORE_PORT=1\n".repeat(600_000), tooLarge],
];
test.each(invalidFiles)(
  "%s is an error, in a configuration file and in a variable's file",
  (_, content, reason) => {
    const files = filesInMemory({ file: content });
    expect(configurationError(["--config", "file"], {}, files)).toEqual(
      usageError(`--config: file ${reason}`),
    );
    expect(configurationError([], { PLANTSTORE_HOST_FILE: "file" }, files)).toEqual(
      usageError(`PLANTSTORE_HOST_FILE: file ${reason}`),
    );
  },
);

test("a missing file, a directory, an endless device and an empty path are errors, whatever names them", () => {
  using folder = new TemporaryFolder();
  const none = folder.file("none");
  for (const [path, problem] of [
    [none, `: ${none} cannot be read (ENOENT: no such file or directory)`],
    [folder.path, `: ${folder.path} cannot be read (EISDIR: illegal operation on a directory)`],
    ["/dev/zero", `: /dev/zero ${tooLarge}`],
    ["", " is empty; it must name a file"],
  ] as const) {
    expect(configurationError(["--config", path])).toEqual(usageError(`--config${problem}`));
    for (const name of ["PLANTSTORE_CONFIG", "PLANTSTORE_DATABASE_FILE"])
      expect(configurationError([], { [name]: path })).toEqual(usageError(name + problem));
    const files = filesInMemory({ "plantstore.env": `PLANTSTORE_DATABASE_FILE=${path}\n` });
    const read: ReadFile = (...call) => (call[0] === path ? readFileSystem : files)(...call);
    expect(configurationError(["--config", "plantstore.env"], {}, read)).toEqual(
      usageError(`plantstore.env, line 1: PLANTSTORE_DATABASE_FILE${problem}`),
    );
  }
});

const testUnlessRoot = process.getuid?.() === 0 ? test.skip : test;
testUnlessRoot("a file without read permission is an error (skipped: root may read every file)", () => {
  using folder = new TemporaryFolder();
  const file = folder.file("theirs.env");
  writeFileSync(file, "PLANTSTORE_PORT=1", { mode: 0o000 });
  expect(configurationError(["--config", file])).toEqual(
    usageError(`--config: ${file} cannot be read (EACCES: permission denied)`),
  );
});
