// Files as people bring them: of spreadsheets, packed, in other encodings, and of other kinds.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { formatOfName, openContent } from "../../../src/transfer/content.ts";
import { jsonLines } from "../../support/output.ts";
import { StoreFolder } from "../../support/store-folder.ts";

const utf16 = (text: string, isBig = false) => {
  const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
  return isBig ? bytes.swap16() : bytes;
};
const table = (delimiter: string) =>
  ["id,name,tag", '1,"Monstera, big",tropical', "9007199254740993,Fougère,"]
    .join("\n")
    .replaceAll(/,(?! )/g, delimiter);
const expected = [
  '{"id":1,"name":"Monstera, big","tag":"tropical"}',
  '{"id":9007199254740993,"name":"Fougère"}',
];
const ndjson = `${expected.join("\n")}\n`;
/** As programs print an object over several lines. */
const pretty = expected.map((line) =>
  line
    .replaceAll(/(?<=[{,])(?=")/g, "\n  ")
    .replaceAll(":", ": ")
    .replace("}", "\n}"),
);

/** Imports a file into a store of its own. */
async function importFile(name: string, content: string | Uint8Array, ...args: string[]) {
  const store = await StoreFolder.create();
  const result = await store.run("import", store.write(name, content), ...args);
  return {
    ...result,
    plants: (await store.exported()).trim().split("\n").filter(Boolean),
    file: (each: string) => store.file(each),
    again: (report: string) => store.run("import", report),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

test.each<[string, string | Uint8Array]>([
  ["tabs.tsv", table("\t")],
  ["tabs.dat", table("\t")],
  ["no-name", table(",")],
  ["bars.csv", table("|")],
  ["wrong-name.ndjson.csv", ndjson],
  ["wrong-name.json", ndjson],
  ["sep.csv", `sep=;\r\n${table(";")}`],
  ["sep-quoted.csv", `"sep=|"\n${table("|")}`],
  ["unicode-text.txt", utf16(table("\t"))],
  ["big-endian.csv", utf16(table(";"), true)],
  ["utf16.ndjson", utf16(ndjson)],
  ["mark.csv", `\ufeff${table(",")}`],
  ["packed.csv.gz", gzipSync(table(","))],
  ["packed.bin", gzipSync(utf16(`sep=,\n${table(",")}`))],
  ["packed.ndjson.gz", gzipSync(ndjson)],
  ["array.json", `[${expected.join(",")}]`],
  ["wrong-name.csv", `\n [ ${expected.join(" , ")} ]\n`],
  ["array-of-lines.json", `[\r\n${expected.join(",\r\n")}\r\n]\r\n`],
  ["pretty-array.json", `\ufeff[\n${pretty.join(",\n").replaceAll(/^/gm, "  ")}\n]\n`],
  ["pretty.json", pretty.join("\n")],
  ["no-line-ends.ndjson", expected.join("")],
  ["old-line-ends.ndjson", expected.join("\r")],
  ["python-line-ends.ndjson", expected.join("\r\r\n")],
  ["old-line-ends.csv", table(",").replaceAll("\n", "\r")],
  ["python-line-ends.csv", table(",").replaceAll("\n", "\r\r\n")],
  ["joined-arrays.json", expected.map((line) => `\ufeff[${line},]`).join("\n")],
  [
    "joined.csv",
    table(";")
      .split("\n")
      .slice(1)
      .map((line) => `\ufeff"id";name;tag\r\n${line}\r\n`)
      .join(""),
  ],
  ["joined.ndjson", expected.map((line) => `\ufeff${line}\n`).join("")],
  ["utf16.json", utf16(`[${pretty.join(",")}]`, true)],
  ["packed.json.gz", gzipSync(`[${pretty.join(",")}]`)],
])("%s is read", async (name, content) => {
  await using imported = await importFile(name, content);
  expect(imported).toMatchObject({ exitCode: 0, plants: expected });
});

test.each([
  ['{"id":1,"name":"a"}\n', "ndjson"],
  ['{"id":1,"name":"}{\\"{"}\n{\n', "ndjson"],
  ['{"id":1,"tags":[{}]},\n', "ndjson"],
  ['{"id":1,"name":"cut\n{"id":2}\n', "ndjson"],
  ['{"id":1,"name":"cut"\n{"id":2}\n', "ndjson"],
  ['{"id":1,\n"name":"x"}\n', "json"],
  [`{"id":1,"name":"${"long".repeat(200)}`, "ndjson"],
  ["{\n", "json"],
  ['\n\r\n{ "id": 1,\n', "json"],
  ['{"id":1} {"id":2}', "json"],
  ["[", "json"],
])("the format that begins with %j is %s", async (start, expectedFormat) => {
  async function* chunks() {
    for (const byte of Buffer.from(start)) yield Uint8Array.of(byte);
  }
  for (const given of [undefined, "ndjson"] as const) {
    const { format } = await openContent(chunks(), { name: "x", given, named: "csv" });
    expect(format).toBe(expectedFormat as never);
  }
});

test("rejected records of an array are reported with line and column, one a line", async () => {
  await using imported = await importFile(
    "plants.json",
    '[{"id":1,"name":"Ficus"},\n {"id":2,"name":5}, {\n "id":1,\n "name":"é\\q"\n},\n {"id":1,"name":"Fern"}]',
  );
  expect(imported).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining("1 created, 0 already stored, 3 rejected; see "),
  });
  const report = readFileSync(imported.file("plants.json.rejected.ndjson"), "utf8");
  expect(jsonLines(report)).toEqual([
    {
      line: 2,
      column: 2,
      error: 40002,
      message: 'The record is not a NewPlant: "name" must be a string, but is the number 5.',
      text: '{"id":2,"name":5}',
    },
    {
      line: 2,
      column: 21,
      error: 40001,
      message:
        'The record is not JSON: line 4, column 11: expected an escape such as \\n or \\u0041 after "\\", found "\\\\".',
      text: '{\n "id":1,\n "name":"é\\q"\n}',
    },
    {
      line: 6,
      column: 2,
      error: 40009,
      message: "The id 1 already holds a different plant, which is unchanged; choose another id.",
      text: '{"id":1,"name":"Fern"}',
    },
  ]);
});

test("a comma after each line is rejected with what to do", async () => {
  await using imported = await importFile("plants.ndjson", expected.map((line) => `${line},\n`).join(""));
  expect(imported).toMatchObject({ exitCode: 3, plants: [] });
  const [first] = jsonLines(readFileSync(imported.file("plants.ndjson.rejected.ndjson"), "utf8"));
  expect(first.message).toBe(
    'The record is not JSON: a comma follows it; remove the comma of each line, or put "[" before the first and "]" after the last.',
  );
});

test("--format decides", async () => {
  await using imported = await importFile("plants.csv", table(","), "--format", "ndjson");
  expect(imported).toMatchObject({ exitCode: 3, plants: [] });
});

const noText = "no text; import CSV or JSON in UTF-8, or in UTF-16 that begins so";
const sqliteFile = () => {
  using database = new Database(":memory:");
  database.run("CREATE TABLE plants (id, name)");
  return database.serialize();
};
const picture = new URL("../../../docs/images/console.png", import.meta.url);

test.each<[string, string | Uint8Array, string]>([
  [
    "plants.xlsx",
    "PK\x03\x04\x14\0",
    "a ZIP archive or a workbook (xlsx, ods); unpack it, or save the sheet as CSV in UTF-8",
  ],
  [
    "plants.xls",
    Buffer.from("d0cf11e0a1b11ae1", "hex"),
    "a workbook of Excel; save the sheet as CSV in UTF-8",
  ],
  [
    "plants.csv",
    "\n<!DOCTYPE html><title>Log in</title>",
    "a page of HTML or XML, perhaps that of a log-in; import the file itself",
  ],
  ["plants.pdf", "%PDF-1.7\n", "a PDF; import the table that it was made from"],
  ["plants.csv.bz2", "BZh91AY&SY", "compressed with bzip2; unpack it first"],
  ["plants.csv.zst", Buffer.from("28b52ffd0400", "hex"), "compressed with zstd; unpack it first"],
  ["twice.csv.gz", gzipSync(gzipSync(table(","))), "compressed twice with gzip; unpack it once"],
  ["database.csv", sqliteFile(), noText],
  ["picture.ndjson", readFileSync(picture), noText],
  ["picture.csv.gz", gzipSync(readFileSync(picture)), noText],
])("%s is refused in a sentence, without a report", async (name, content, sentence) => {
  await using imported = await importFile(name, content);
  expect(imported).toMatchObject({
    exitCode: 2,
    stderr: `plantstore: ${imported.file(name)} is ${sentence}\n`,
    plants: [],
  });
  expect(existsSync(imported.file(`${name}.rejected.csv`))).toBe(false);
});

test("a small file that becomes a huge one is not unpacked to its end", async () => {
  const first = `{"id":1,${" ".repeat(100_000)}"name":"Fern"}\n`;
  const bomb = gzipSync(`${first.repeat(700)}{"id":2,"name":"Ficus"}\n`);
  await using imported = await importFile("bomb.ndjson.gz", bomb);
  expect(imported).toMatchObject({ exitCode: 1, plants: ['{"id":1,"name":"Fern"}'] });
  expect(imported.stderr).toContain("becomes more than 100 times larger when it is unpacked");
});

test("what is damaged is said, and what came before it is imported", async () => {
  const packed = gzipSync(
    `id,name\n${Array.from({ length: 50_000 }, (_, id) => `${id},${Bun.hash(String(id))}`).join("\n")}`,
  );
  await using cut = await importFile("cut.csv.gz", packed.subarray(0, packed.length / 2));
  expect(cut.exitCode).toBe(1);
  expect(cut.stderr).toContain("is damaged: its gzip cannot be unpacked to the end");
  expect(
    cut.plants.every((line) => JSON.parse(line).name === String(Bun.hash(String(JSON.parse(line).id)))),
  ).toBe(true);
  await using odd = await importFile(
    "odd.csv",
    Buffer.concat([utf16("id,name\n1,a\n"), Buffer.from([0x00, 0xd8, 0x41])]),
  );
  expect(odd.stderr).toContain("is not UTF-16, although it begins so; save it as UTF-8");
});

test("the report of a table is a table: missing cells are empty, surplus ones stand in the reason", async () => {
  await using imported = await importFile(
    "plants.csv",
    'id,name,tag\n1\n2,Ficus,tropical,"a,b","c\nd"\n3,Monstera,\n',
  );
  expect(imported).toMatchObject({ exitCode: 3, plants: ['{"id":3,"name":"Monstera"}'] });
  const report = imported.file("plants.csv.rejected.csv");
  const lines = readFileSync(report, "utf8").trim().split("\n");
  expect(lines).toEqual([
    "id,name,tag,reason",
    expect.stringMatching(/^1,,,"line 2: 40001 The record has 1 cell, but the header has 3: /),
    expect.stringMatching(
      /^2,Ficus,tropical,"line 3: 40001 The record has 5 cells, .* The others are ""a,b"",""c d"""$/,
    ),
  ]);
  writeFileSync(report, lines.join("\n").replace("1,,,", "1,Fern,,"));
  expect((await imported.again(report)).stderr).toContain("2 created, 0 already stored, 0 rejected");
});

test("a stream of small pieces is what one piece is", async () => {
  const packed = gzipSync(utf16(table(";")));
  async function* pieces() {
    for (const byte of packed) yield Uint8Array.of(byte);
  }
  const { format, chunks } = await openContent(pieces(), { name: "x", named: formatOfName("x.csv.gz") });
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  expect([format, Buffer.concat(parts).toString()]).toEqual(["csv", table(";")]);
});
