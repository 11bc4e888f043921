// Parsing of NDJSON and CSV to records, with any bytes in chunks of any size.

import { expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { ApiError } from "../../../src/base/errors.ts";
import { OperatorError } from "../../../src/base/operator-error.ts";
import type { Plant } from "../../../src/contract/contract.ts";
import { parsePlant, plantJson } from "../../../src/contract/plant.ts";
import type { NewEntry, Outcome } from "../../../src/store/plant-store.ts";
import type { CsvHeader } from "../../../src/transfer/csv.ts";
import { type CsvCells, formatCsvRecord, parseCsvRecords } from "../../../src/transfer/csv-records.ts";
import { readRecords } from "../../../src/transfer/file-format.ts";
import { importPlants, newCounts } from "../../../src/transfer/import.ts";
import type { ImportRecord } from "../../../src/transfer/record-reader.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { plant as plantOf, plantStore, readSingle } from "../../support/contracts.ts";
import { expectProcessorMs } from "../../support/processes.ts";
import { anyInt64, anyPlant } from "../../support/random.ts";
import { settled } from "../../support/settled.ts";

type Read = (
  chunks: AsyncIterable<Uint8Array>,
  options: { readonly recordBytesMax: number },
) => AsyncIterable<readonly ImportRecord[]>;

const csvRecords: Read = (chunks, options) => readRecords(plantStore, "csv", chunks, options);
const ndjsonRecords: Read = (chunks, options) => readRecords(plantStore, "ndjson", chunks, options);

const jsonRecords: Read = (chunks, options) => readRecords(plantStore, "json", chunks, options);

const plentyBytes = 2 ** 20;
const anyCuts = fc.array(fc.nat(200), { maxLength: 6 });

/** The records of bytes that arrive in chunks. */
async function parseAll(
  read: Read,
  text: string | Uint8Array,
  cuts: readonly number[] = [],
  recordBytesMax = plentyBytes,
): Promise<ImportRecord[]> {
  const chunks = piecesOf(Buffer.from(text), cuts);
  return (await Array.fromAsync(read(chunks, { recordBytesMax }))).flat();
}

async function* piecesOf(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  const sorted = places.toSorted((one, other) => one - other);
  for (const [index, start] of sorted.slice(0, -1).entries()) yield bytes.subarray(start, sorted[index + 1]);
}

/** Line, text, and the plant or the error code. */
function summarize(records: readonly ImportRecord[]) {
  return records.map(({ line, text, plant }) => [
    line,
    text,
    plant instanceof ApiError ? plant.code : plantJson(plantStore, plant),
  ]);
}

test("a line of NDJSON is parsed as a request body is, in chunks of any size", async () => {
  const anyLine = fc.oneof(
    anyPlant.map((plant) => Buffer.from(plantJson(plantStore, plant))),
    fc
      .constantFrom("{}", "nope", '{"id":1,"name":"x"', '\ufeff{"id":1,"name":"x"}', '{"id":1.5,"name":"é"}')
      .map((text) => Buffer.from(text)),
    fc.constantFrom("", " ", "\t \r").map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a))),
  );
  const anyFile = fc.tuple(
    fc.array(fc.tuple(anyLine, fc.constantFrom("\n", "\r\n")), { maxLength: 12 }),
    fc.boolean(),
  );
  await fc.assert(
    fc.asyncProperty(anyFile, anyCuts, async ([lines, endsWithLine], cuts) => {
      const file = Buffer.concat(lines.flatMap(([line, end]) => [line, Buffer.from(end)]));
      const whole = endsWithLine ? file : file.subarray(0, file.lastIndexOf(0x0a));
      const expected = lines.flatMap(([line, end], index) => {
        const withEnd = Buffer.concat([line, Buffer.from(end)]);
        // A byte order mark is no part of the first line.
        const decoder = new TextDecoder("utf-8", { ignoreBOM: index > 0 });
        const text = decoder.decode(withEnd).replace(/\r?\n$/, "");
        return /^[ \t\r]*$/.test(text)
          ? []
          : [{ line: index + 1, text, plant: parsePlant(plantStore, line) }];
      });
      expect(summarize(await parseAll(ndjsonRecords, whole, cuts))).toEqual(summarize(expected));
    }),
    { numRuns: 200 },
  );
});

test("JSON over lines is cut into the exact texts of its records, in chunks of any size", async () => {
  const anyObject = fc.oneof(
    anyPlant.map((plant) => Buffer.from(plantJson(plantStore, plant))),
    anyPlant.map((plant) =>
      Buffer.from(
        plantJson(plantStore, plant)
          .replace("{", "{\n  ")
          .replace(/,"name"/, ',\r\n\t"name"'),
      ),
    ),
    fc
      .constantFrom(
        "{}",
        '{"id":1.5,"name":"é😀"}',
        '{"a":[{"}":"]"}]}',
        '{"id":1 "x"}',
        '{"a":"\\\\","b":[]}',
      )
      .map((text) => Buffer.from(text)),
    fc.constant(Buffer.from('{"id":1,"name":"caf\xe9"}', "latin1")),
  );
  const anyBlank = fc.constantFrom("", " ", "\n", "\r\n  ");
  const anyValue = fc.oneof(
    fc.tuple(anyObject, anyBlank).map((record) => ["", record, ""] as const),
    fc.tuple(anyObject, anyBlank).map((record) => ["[", record, "]"] as const),
    fc.tuple(anyObject, anyBlank).map((record) => ["\ufeff[", record, ", ]"] as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anyValue, { maxLength: 6 }), anyCuts, async (values, cuts) => {
      const expected: unknown[] = [];
      let file = Buffer.alloc(0);
      for (const [start, [record, blank], end] of values) {
        const before = Buffer.concat([file, Buffer.from(start + blank)]);
        const lines = before.toString().split("\n");
        const text = record.toString();
        const plant = parsePlant(plantStore, record);
        expected.push([
          lines.length,
          (lines.at(-1) ?? "").replaceAll(/\ufeff(?=\[)/g, "").length + 1,
          text,
          plant instanceof ApiError ? plant.code : plantJson(plantStore, plant),
        ]);
        file = Buffer.concat([before, record, Buffer.from(blank + end)]);
      }
      const records = await parseAll(jsonRecords, file, cuts);
      const summaries = summarize(records).map(([line, ...rest], index) => [
        line,
        records[index]?.column,
        ...rest,
      ]);
      expect(summaries).toEqual(expected as never);
    }),
    { numRuns: 400 },
  );
});

test("the records of an array come before it ends", async () => {
  async function* chunks() {
    yield Buffer.from('[{"id":1,"name":"a"},{"id":2,"name":"b"}');
    await new Promise(() => undefined);
  }
  const { value } = await jsonRecords(chunks(), { recordBytesMax: plentyBytes })
    [Symbol.asyncIterator]()
    .next();
  expect(summarize(value ?? []).map(([, text]) => text)).toEqual([
    '{"id":1,"name":"a"}',
    '{"id":2,"name":"b"}',
  ]);
});

const a = '{"id":1,"name":"a"}';
test.each([
  [`[${a},`, 'the array does not end: the file ends in line 1 without "]", and has perhaps been cut'],
  [`[\n${a} ${a}]`, 'line 2, column 21: expected "," or "]", found "{"; correct it'],
  [`[${a},,${a}]`, 'line 1, column 22: expected "{" or "]", found ","; correct it'],
  [`[${a},\n"é"]`, 'line 2, column 1: expected "{" or "]", found "\\""; correct it'],
  [`[${a}]x`, 'line 1, column 22: expected "{" or "[", found "x"; correct it'],
  [`[${a}\u0001]`, 'line 1, column 21: expected "," or "]", found "\\u0001"; correct it'],
  [`[${a}]]`, 'line 1, column 22: expected "{" or "[", found "]"; correct it'],
  [`${a}\n},`, 'line 2, column 1: expected "{" or "[", found "}"; correct it'],
  [
    `${a}\n {"id":2,\n${a}${a}`,
    'the record in line 2, column 2 does not end: line 3, column 1: expected a member name in double quotes, found "{"; correct it',
  ],
  [
    `${a}{"id":2,"é`,
    "the record in line 1, column 20 does not end: line 1, column 30: expected a closing double quote, found its end; correct it",
  ],
])("JSON of which the rest cannot be read is an OperatorError: %j", async (file, message) => {
  for (const cuts of [[], Array.from({ length: 50 }, (_, index) => index)]) {
    const read: ImportRecord[] = [];
    const reading = (async () => {
      for await (const some of jsonRecords(piecesOf(Buffer.from(file), cuts), { recordBytesMax: 200 }))
        read.push(...some);
    })();
    expect(await settled(reading)).toThrow(message);
    expect(read[0]?.text).toBe(a);
  }
});

test("a line end that is not escaped in a string spoils one record", async () => {
  const wrong = '{"id":1,"name":"a\r\n}","tag":""}';
  expect(summarize(await parseAll(jsonRecords, `[${wrong},\n${a}]`))).toEqual([
    [1, wrong, "invalidJson"],
    [3, a, a],
  ]);
});

test.each([" Id , NAME ,tag\r\n", '\ufeff"ID"," name ","TAG"\n'])(
  "the header %j of a spreadsheet is matched without regard to case and space",
  async (header) => {
    const plant = plantJson(plantStore, plantOf({ id: 1n, name: "Monstera", tag: "tropical" }));
    expect(summarize(await parseAll(csvRecords, `${header}1,Monstera,"tropical"\r\n`))).toEqual([
      [2, '1,Monstera,"tropical"', plant],
    ]);
  },
);

test("exported CSV is parsed to the same plants, in chunks of any size", async () => {
  const anyText = fc
    .array(fc.constantFrom("a", "é", ",", ";", "\t", "|", " ", "'", "\\", '"', "\n", "\r", "\ufeff"))
    .map((parts) => parts.join(""));
  const anyHostile = fc.oneof(
    anyPlant,
    fc.record({ id: anyInt64, name: anyText, tag: anyText }, { requiredKeys: ["id", "name"] }).map(plantOf),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anyHostile, { minLength: 1, maxLength: 8 }), anyCuts, async (plants, cuts) => {
      const texts = plants.map((plant) => `${formatCsvRecord(plantStore, plant)}\n`);
      const text = texts.join("");
      const header = "id,name,tag";
      const records = await parseAll(csvRecords, `${header}\n${text}`, cuts);
      expect(summarize(records)).toEqual(
        plants.map((plant, index) => {
          const before = texts
            .slice(0, index)
            .join("")
            .split(/\r{0,2}\n|\r/).length;
          return [1 + before, texts[index]?.slice(0, -1) ?? "", plantJson(plantStore, plant)];
        }),
      );
    }),
    { numRuns: 200 },
  );
});

test("an id that is any text comes back from exported CSV", async () => {
  const parts = await readSingle({ text: await Bun.file(contractFile("codes.yaml")).text() });
  const anyId = fc
    .array(fc.constantFrom("code", ",", ";", '"', "\r\n", " ", "\ufeff", "é", "name"), { minLength: 1 })
    .map((each) => each.join(""))
    .filter((id) => Buffer.byteLength(id) <= 255);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(anyId, { minLength: 1, maxLength: 8 }), async (ids) => {
      const plants = ids.map((id): Plant => ({ id, values: ["name", undefined] }));
      const lines = ["code,name,price", ...plants.map((plant) => formatCsvRecord(parts, plant))];
      const chunks = piecesOf(Buffer.from(lines.join("\n")), []);
      const read = await Array.fromAsync(readRecords(parts, "csv", chunks, { recordBytesMax: plentyBytes }));
      expect(read.flat().map(({ plant }) => plant)).toEqual(plants);
    }),
  );
});

test("a quoted empty cell of a number is none", async () => {
  const parts = await readSingle({ text: await Bun.file(contractFile("codes.yaml")).text() });
  const read = await Array.fromAsync(
    readRecords(parts, "csv", piecesOf(Buffer.from('code,name,price\nx,"a",""\n'), []), {
      recordBytesMax: plentyBytes,
    }),
  );
  expect(read.flat().map(({ plant }) => plant)).toEqual([{ id: "x", values: ["a", undefined] }]);
});

/** A text whose line ends outside quotes are line feeds: CR, CR LF and CR CR LF are replaced. */
function withLineFeeds(text: string): string {
  return text.replaceAll(/("[^"]*"?)|\r{0,2}\n|\r/g, (_, quoted: string | undefined) => quoted ?? "\n");
}

test("the grammar is csv-parse's: the same cells, the same errors", () => {
  const anyText = fc
    .array(fc.constantFrom("a", "é", ",", '"', '""', "\n", "\r\n", "\r\r\n", "\r", " "), { maxLength: 24 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(anyText, (text) => {
      const records: CsvCells[] = [];
      const end = parseCsvRecords(text, ",", (cells) => records.push(cells));
      // As if the file ended with a line end.
      const isCsv = end >= text.length && records.every((cells) => !("error" in cells));
      let theirs: unknown;
      try {
        theirs = parse(withLineFeeds(text), {
          relax_column_count: true,
          record_delimiter: "\n",
          cast: (cell, { quoting }) => (cell === "" && !quoting ? undefined : cell),
        });
      } catch {
        theirs = "no CSV";
      }
      expect(isCsv ? records : "no CSV").toEqual(theirs as never);
    }),
    { numRuns: 2_000 },
  );
});

test.each(["\n", "\r\n", "\r", "\r\r\n"])(
  "lines may end with %j, in chunks of any size, and only of delimiters are no records",
  async (end) => {
    const lines = ["id,name,tag", '1,"two\r\nlines",shade', ",,", "2,Moss,", "", ",,"];
    const file = lines.map((line) => line + end).join("");
    await fc.assert(
      fc.asyncProperty(anyCuts, async (cuts) =>
        expect(summarize(await parseAll(csvRecords, file, cuts))).toEqual([
          [2, lines[1] ?? "", '{"id":1,"name":"two\\r\\nlines","tag":"shade"}'],
          [5, "2,Moss,", '{"id":2,"name":"Moss"}'],
        ]),
      ),
    );
  },
);

test("lines with different ends are all records", async () => {
  const file = "id,name\r1,a\n2,b\r\n3,c\r\r\n4,d\r5,e";
  expect((await parseAll(csvRecords, file)).map(({ line, text }) => [line, text])).toEqual([
    [2, "1,a"],
    [3, "2,b"],
    [4, "3,c"],
    [5, "4,d"],
    [6, "5,e"],
  ]);
});

test.each([
  ["1", "The record has 1 cell, but the header has 3: write an empty cell for each value that is missing."],
  ["1,a,b,c", "4 cells, but the header has 3: a cell that contains the delimiter"],
])(
  "a record with a wrong number of cells is rejected with what would be right: %s",
  async (record, message) => {
    const [rejected] = await parseAll(csvRecords, `id,name,tag\n${record}\n`);
    expect(rejected?.plant).toMatchObject({ message: expect.stringContaining(message) });
  },
);

test("a missing, an empty and a quoted empty cell are different", async () => {
  const file = 'tag,id,ignored,name\n,1,x,a\n"",2,,"b"\nc,3,"",""\nd,4,,\n';
  expect(summarize(await parseAll(csvRecords, file))).toEqual([
    [2, ",1,x,a", '{"id":1,"name":"a"}'],
    [3, '"",2,,"b"', '{"id":2,"name":"b","tag":""}'],
    [4, 'c,3,"",""', '{"id":3,"name":"","tag":"c"}'],
    [5, "d,4,,", "invalidPlant"],
  ]);
  // Without a tag column no plant has a tag.
  expect(summarize(await parseAll(csvRecords, "name,id\r\na,1\r\n"))).toEqual([
    [2, "a,1", '{"id":1,"name":"a"}'],
  ]);
});

test("columns that are not read are named, also those without a name", async () => {
  async function* chunks() {
    yield Buffer.from("id,,name,Price,\n1,a,b,c,d\n");
  }
  let ignored: readonly string[] = [];
  const onHeader = (header: CsvHeader) => {
    ignored = header.ignored;
  };
  await Array.fromAsync(readRecords(plantStore, "csv", chunks(), { recordBytesMax: plentyBytes, onHeader }));
  expect(ignored).toEqual(["(no name)", "Price"]);
});

test("an id in CSV is its decimal digits", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyInt64.map(String), fc.string(), fc.double().map(String)), async (id) => {
      const [record] = await parseAll(csvRecords, `name,id\nx,"${id.replaceAll('"', '""')}"\n`);
      const isId = /^-?[0-9]+$/.test(id) && BigInt(id) === BigInt.asIntN(64, BigInt(id));
      const expected = isId
        ? plantOf({ id: BigInt(id), name: "x" })
        : new ApiError("invalidPlant", expect.any(String));
      expect(record?.plant).toEqual(expected);
    }),
  );
});

test.each<[id: string, message: string]>([
  ["9223372036854775808", "an integer (int64), but is 9223372036854775808"],
  ["9".repeat(400), `an integer (int64), but is ${"9".repeat(40)}…`],
  [
    "9,0072E+15",
    "in decimal digits, but is 9,0072E+15: a spreadsheet may have shortened it, so take the id from",
  ],
  ["1,066", "in decimal digits, but is 1,066: write it without separators between thousands"],
  ["1.0", "in decimal digits, but is 1.0: a spreadsheet may have shortened it"],
  ["0x10", 'an integer (int64) in decimal digits, but is "0x10"'],
  ["x".repeat(50), `in decimal digits, but is "${"x".repeat(40)}…"`],
])("the id %s in CSV is rejected with its reason", async (id, message) => {
  const [record] = await parseAll(csvRecords, `id,name\n"${id}",x\n`);
  expect(record?.plant).toMatchObject({ message: expect.stringContaining(message) });
});

test("an invalid CSV record is rejected alone, with its first line and its text", async () => {
  const file = Buffer.concat([
    Buffer.from('id,name,tag\n1,"two\nlines",t\n\n2,one,comma,too many\n3,quo"te,t\n4,"quo"te,t\r\n'),
    Buffer.from("5,caf\xe9,t\n", "latin1"),
    Buffer.from('6,"a\nb\x00",t\n7,café,t\n8,"last\none"'),
  ]);
  for (const cuts of [[], [20, 40, 60, 80], [15, 30, 75]]) {
    expect(summarize(await parseAll(csvRecords, file, cuts))).toEqual([
      [2, '1,"two\nlines",t', '{"id":1,"name":"two\\nlines","tag":"t"}'],
      [5, "2,one,comma,too many", "invalidJson"],
      [6, '3,quo"te,t', "invalidJson"],
      [7, '4,"quo"te,t', "invalidJson"],
      [8, "5,caf\ufffd,t", "invalidJson"],
      [9, '6,"a\nb\x00",t', "unstorableText"],
      [11, "7,café,t", '{"id":7,"name":"café","tag":"t"}'],
      [12, '8,"last\none"', "invalidJson"],
    ]);
  }
});

const invalidFiles: readonly [file: string | Uint8Array, message: string][] = [
  ["", "the file has no header"],
  [
    "name,tag\nx,y\n",
    'the header has no column id; it is "name,tag"; its first line must name the columns id and name, and may name tag',
  ],
  ["1,Monstera,tropical\n", 'the header has no column id and no name; it is "1,Monstera,tropical";'],
  [`${"x".repeat(101)}\n`, `it is "${"x".repeat(100)}…";`],
  ["ID,id,Name\n", "the header has the column id twice"],
  ['id,"na"me\n', "the header is not CSV in UTF-8: text after"],
  [Buffer.from("id,name,\xe9\n", "latin1"), "the header is not CSV in UTF-8: invalid UTF-8"],
  ['id,name\n1,x\n2,"never closed\n3,y\n', "the record in line 3 does not end: a quote is not closed"],
];
test.each(invalidFiles)(
  "CSV without a valid header or with an open quote is an OperatorError: %p",
  async (file, message) => {
    for (const cuts of [[], [1, 5, 9, 13], Array.from({ length: 50 }, (_, index) => 5 * index)]) {
      const error = await parseAll(csvRecords, file, cuts, 200).catch((reason) => reason);
      expect(error).toBeInstanceOf(OperatorError);
      expect(error.message).toContain(message);
    }
  },
);

test("a record longer than a request's body is rejected alone, and comes with all of its text", async () => {
  const long = "é".repeat(2_000);
  for (const [read, start, records] of [
    [ndjsonRecords, "", ['{"id":1,"name":"a"}', `{"id":2,"name":"${long}"}`, '{"id":3,"name":"c"}']],
    [jsonRecords, "", ['{"id":1,"name":"a"}', `{"id":2,"name":"${long}"}`, '{"id":3,"name":"c"}']],
    [csvRecords, "id,name\n", ["1,a", `2,"${"x\n".repeat(1_000)}"`, "3,c"]],
    [csvRecords, "id,name\n", ["1,a", `2,x"${long}"`, "3,c"]],
  ] as const) {
    const file = `${start}${records.join("\n")}\n`;
    const cuts = fc.array(fc.nat(file.length), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) =>
        expect(
          summarize(await parseAll(read, file, places, 100)).map(([, text, plant]) => [text, plant]),
        ).toEqual([
          [records[0], '{"id":1,"name":"a"}'],
          [records[1], "contentTooLarge"],
          [records[2], '{"id":3,"name":"c"}'],
        ]),
      ),
      { numRuns: 50 },
    );
  }
});

test.each<[string, Read, string, string, string, number]>([
  [
    "CSV",
    csvRecords,
    'id,name\n1,a\n2,"never closed\n',
    "3,c\n",
    "the record in line 3 is longer than 16777216 bytes",
    2,
  ],
  [
    "JSON",
    jsonRecords,
    `[${a},\n{"id":2,`,
    `${a},\n`,
    "the record in line 2, column 1 is longer than 16777216 bytes: line 2, column 9: expected a member name",
    1,
  ],
])("a record that does not end is an OperatorError, after the records before it: %s", async (...row) => {
  const [, parse, start, more, message, line] = row;
  async function* chunks() {
    yield Buffer.from(start);
    // More than is held.
    for (let mebibytes = 0; mebibytes < 24; mebibytes++) yield Buffer.from(more.repeat(2 ** 18));
  }
  const read: ImportRecord[] = [];
  const reading = (async () => {
    for await (const some of parse(chunks(), { recordBytesMax: 100 })) read.push(...some);
  })();
  expect(await settled(reading)).toThrow(message);
  expect(read.map((record) => record.line)).toEqual([line]);
});

// A chunk that is shorter than what is pending is parsed with the next one.
test.each([1, 50])(
  "the records before an error of the file are imported: %i characters pending",
  async (length) => {
    const stored: Plant[] = [];
    const store = {
      collection: plantStore,
      create: async (batch: readonly NewEntry[]): Promise<Outcome[]> => {
        for (const { plant } of batch) stored.push(plant);
        return batch.map(() => "created");
      },
    };
    async function* chunks() {
      yield Buffer.from(`id,name\n1,a\n2,${"b".repeat(length)}`);
      yield Buffer.from('\n3,c\n4,"open\n5,e\n');
    }
    const counts = newCounts();
    const importing = importPlants(csvRecords(chunks(), { recordBytesMax: plentyBytes }), store, {
      onRejected: () => expect.unreachable(),
      counts,
      signal: new AbortController().signal,
    });
    expect(await settled(importing)).toThrow("the record in line 5 does not end");
    expect(stored.map(({ id }) => id)).toEqual([1n, 2n, 3n]);
    expect(counts).toEqual({ created: 3, unchanged: 0, replaced: 0, rejected: 0 });
  },
);

test.each([";", "\t"])("a file may have %j in place of commas", async (delimiter) => {
  const file = 'Name,ID,Tag\n"a;b\tc",1,"d,e"\n'.replaceAll(/(?<=\w|"),(?=\w|")(?!e)/g, delimiter);
  expect((await parseAll(csvRecords, file)).map(({ plant }) => plant)).toEqual([
    plantOf({ id: 1n, name: "a;b\tc", tag: "d,e" }),
  ]);
});

test("the delimiter is the one with which the header has the required columns", async () => {
  const file = 'id,name,"size (h; w; d; weight)"\n1,a,"1;2;3;4"\n';
  expect((await parseAll(csvRecords, file)).map(({ plant }) => plant)).toEqual([
    plantOf({ id: 1n, name: "a" }),
  ]);
});

test("a file with another delimiter is parsed in linear time", () => {
  const text = '1;"é植"\n'.repeat(300_000);
  let records = 0;
  expectProcessorMs(2_000, () => {
    records = 0;
    parseCsvRecords(text, ",", () => records++);
  });
  expect(records).toBe(300_000);
});
