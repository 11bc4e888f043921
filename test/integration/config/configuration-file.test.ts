// The file that --config names: what may stand in it, and files that are none.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { configured, refusedWith } from "../../support/configuration.ts";
import { plantstore, run, TemporaryFolder } from "../../support/server.ts";

/** The value of one setting, which may be any text, in a file that holds this. */
async function hostIn(content: string | Uint8Array): Promise<unknown> {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("plantstore.env"), content);
  return (await configured(["--config", folder.file("plantstore.env")])).get("PLANTSTORE_HOST")?.value;
}

const assignments: readonly [content: string, value: string][] = [
  ["PLANTSTORE_HOST=plants.example", "plants.example"],
  [" \t PLANTSTORE_HOST \t=\t plants.example \t\n", "plants.example"],
  ["export PLANTSTORE_HOST=plants.example", "plants.example"],
  ["PLANTSTORE_HOST=two words", "two words"],
  ["PLANTSTORE_HOST=a=b=c==", "a=b=c=="],
  ["PLANTSTORE_HOST=plants.example # the public one", "plants.example"],
  ["# it's a comment\n\n\t#\nPLANTSTORE_HOST=plants.example\n#", "plants.example"],
  ['PLANTSTORE_HOST="a # b" # c', "a # b"],
  ["PLANTSTORE_HOST=' a \"b\" `c` '", ' a "b" `c` '],
  ['PLANTSTORE_HOST=`it\'s "quoted"`', 'it\'s "quoted"'],
  ["PLANTSTORE_HOST=it's", "it's"],
  [`PLANTSTORE_HOST='a$HOME $\{HOME} \\n'`, `a$HOME $\{HOME} \\n`],
  ["PLANTSTORE_HOST=a$HOME", "a$HOME"],
  ['PLANTSTORE_HOST="a$HOME"', "a$HOME"],
  ["PLANTSTORE_HOST='a\\b'", "a\\b"],
  ['PLANTSTORE_HOST="a\nPLANTSTORE_PORT=x\nb"\nPLANTSTORE_TOKEN_RATE=1', "a\nPLANTSTORE_PORT=x\nb"],
  ["PLANTSTORE_HOST=pflanzen-für-dich.example", "pflanzen-für-dich.example"],
  ["\uFEFFPLANTSTORE_HOST=plants.example", "plants.example"],
  ["PLANTSTORE_PORT=1\r\nPLANTSTORE_HOST=plants.example\r\n# end\r\n", "plants.example"],
  ["", "127.0.0.1"],
  ["\n\n", "127.0.0.1"],
  ["# nothing yet", "127.0.0.1"],
];
test.each(assignments)("%j", async (content, value) => {
  expect(await hostIn(content)).toBe(value);
});

test("an empty value is a value", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  for (const content of [
    "PLANTSTORE_BASE_PATH=",
    "PLANTSTORE_BASE_PATH=''",
    "PLANTSTORE_BASE_PATH= # none\n",
  ]) {
    writeFileSync(file, content);
    const rows = await configured(["--config", file]);
    expect(rows.get("PLANTSTORE_BASE_PATH")).toEqual({ value: "", source: "config file" });
  }
  writeFileSync(file, "PLANTSTORE_HOST=\nPLANTSTORE_PORT=1");
  expect(await run(["config", "--config", file])).toEqual(
    refusedWith(`${file}, line 1: PLANTSTORE_HOST says "": It must not be empty.`),
  );
});

const faults: readonly [content: string, line: number][] = [
  ["PLANTSTORE_PORT 8080", 1],
  ["# fine\nPLANTSTORE_PORT: 8080", 2],
  ["PLANTSTORE_HOST=a\n\nnonsense\nPLANTSTORE_PORT=1", 3],
  ["=1", 1],
  ["export PLANTSTORE_PORT", 1],
  ["PLANTSTORE_HOST=a#b", 1],
  ["PLANTSTORE_HOST=#b", 1],
  ['PLANTSTORE_HOST="a" b', 1],
  ['PLANTSTORE_HOST="a"#b', 1],
  ["PLANTSTORE_HOST='it''s'", 1],
  ['PLANTSTORE_HOST="a \\" b"', 1],
  ['PLANTSTORE_HOST="a\\nb"', 1],
  ["PLANTSTORE_HOST='a\\'", 1],
  ["PLANTSTORE_PORT=1\nPLANTSTORE_HOST='two\nthree\nfour\n", 2],
  ["PLANTSTORE_PORT='\n\n'\nPLANTSTORE_HOST", 4],
  ["PLANTSTORE_PORT=1\rPLANTSTORE_HOST=a\r", 1],
  ["PLANTSTORE_HOST=a\f", 1],
  ['{\n  "port": 8080\n}', 1],
  [`${"A".repeat(101)}=1`, 1],
];
test.each(faults)("%j is refused with the line of its fault", async (content, line) => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  writeFileSync(file, content);
  expect(await run(["config", "--config", file])).toEqual(
    refusedWith(
      `${file}, line ${line} is not NAME=value; put a value that holds #, quotes or backslashes in single quotes`,
    ),
  );
});

const strays: readonly [content: string, line: string][] = [
  ["PORT=1", "line 1: PORT is no setting; did you mean PLANTSTORE_PORT?"],
  ["plantstore.port=1", "line 1: plantstore.port is no setting; did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_PORT='1'\n\nPLANTSTORE_PORT=2", "line 3: PLANTSTORE_PORT is set already, in line 1"],
  ["PLANTSTORE_CONFIG=x", "line 1: PLANTSTORE_CONFIG has no place in a configuration file"],
  ["PLANTSTORE_TEST_URL=x", 'line 1: PLANTSTORE_TEST_URL is no setting; "plantstore config" shows those'],
  ["__proto__=1", "line 1: __proto__ is no setting; "],
];
test.each(strays)("%j does not belong there", async (content, line) => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  writeFileSync(file, content);
  const { exitCode, stdout, stderr } = await run(["config", "--config", file]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toStartWith(`plantstore: ${file}, ${line}`);
});

const noText = "is no text in UTF-8; is it the right file?";
const tooLarge = "is over 1048576 bytes; is it the right file?";
const noFiles: readonly [what: string, content: string | Uint8Array, reason: string][] = [
  ["bytes that are no text", Uint8Array.from({ length: 5_000 }, (_, index) => (index * 97) % 256), noText],
  ["a zero byte", "PLANTSTORE_HOST=a\0b", noText],
  [
    "UTF-16, as some editors write it",
    new Uint8Array(Buffer.from("\uFEFFPLANTSTORE_PORT=1", "utf16le")),
    noText,
  ],
  ["a megabyte and a byte", "#".repeat(2 ** 20 + 1), tooLarge],
  ["ten megabytes", "PLANTSTORE_PORT=1\n".repeat(600_000), tooLarge],
];
test.each(noFiles)(
  "%s: refused by name, as a configuration file and as a variable's",
  async (_, content, reason) => {
    using folder = new TemporaryFolder();
    const file = folder.file("file");
    writeFileSync(file, content);
    expect(await run(["config", "--config", file])).toEqual(refusedWith(`--config: ${file} ${reason}`));
    expect(await run(["config"], { PLANTSTORE_HOST_FILE: file })).toEqual(
      refusedWith(`PLANTSTORE_HOST_FILE: ${file} ${reason}`),
    );
  },
);

test("a folder, an endless device and no name are refused", async () => {
  using folder = new TemporaryFolder();
  const refusal = async (path: string) => (await run(["config", "--config", path])).stderr;
  expect(await refusal(folder.path)).toBe(
    `plantstore: --config: ${folder.path} cannot be read (EISDIR: illegal operation on a directory)\n`,
  );
  expect(await refusal("/dev/zero")).toBe(`plantstore: --config: /dev/zero ${tooLarge}\n`);
  expect(await refusal("")).toBe("plantstore: --config is empty; it must name a file\n");
});

// Root may read everything.
test.skipIf(process.getuid?.() === 0)("a file of others is refused by name", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("theirs.env");
  writeFileSync(file, "PLANTSTORE_PORT=1", { mode: 0o000 });
  expect(await run(["config", "--config", file])).toEqual(
    refusedWith(`--config: ${file} cannot be read (EACCES: permission denied)`),
  );
});

test("a megabyte of text that could be anything is judged at once", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  const spaces = " ".repeat(1_000_000);
  for (const content of [
    `A=x${spaces}y#`,
    `${spaces}=`,
    `A='${spaces}`,
    `A=${"'\"`".repeat(300_000)}`,
    "export ".repeat(140_000),
    `PLANTSTORE_${"A".repeat(1_000_000)}=1`,
  ]) {
    writeFileSync(file, content);
    expect((await run(["config", "--config", file])).stderr).toContain(", line 1 is not NAME=value;");
  }
  writeFileSync(file, `PLANTSTORE_HOST=a${spaces} #${spaces.slice(40_000)}`.slice(0, 2 ** 20));
  expect((await configured(["--config", file])).get("PLANTSTORE_HOST")?.value).toBe("a");
});

test("a configuration may come through a pipe", async () => {
  const shell = Bun.spawn(
    ["sh", "-c", `echo PLANTSTORE_HOST=piped | ${plantstore} config --config /dev/stdin`],
    {
      stdout: "pipe",
    },
  );
  expect(await shell.stdout.text()).toMatch(/^PLANTSTORE_HOST +piped +config file$/m);
});
