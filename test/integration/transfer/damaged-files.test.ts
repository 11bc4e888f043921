// A thousand damaged files: what is imported is in the file, and what is in the file and not
// imported has a rejection, or an error, that says where.

import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { ApiError } from "../../../src/base/errors.ts";
import { OperatorError } from "../../../src/base/operator-error.ts";
import type { Plant } from "../../../src/contract/contract.ts";
import { plantJson } from "../../../src/contract/plant.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import type { NewEntry, Outcome } from "../../../src/store/plant-store.ts";
import { formatOfName, openContent } from "../../../src/transfer/content.ts";
import { formatCsvRecord } from "../../../src/transfer/csv-records.ts";
import { readRecords } from "../../../src/transfer/file-format.ts";
import { importPlants, newCounts, type RejectedRecord } from "../../../src/transfer/import.ts";
import type { ImportRecord } from "../../../src/transfer/record-reader.ts";
import { plant as plantOf, plantStore } from "../../support/contracts.ts";
import { Random } from "../../support/random.ts";

const damagesPerFormat = 200;

type Layout = (plants: readonly Plant[]) => string;

const lines = (plants: readonly Plant[]) => plants.map((plant) => plantJson(plantStore, plant));
const pretty = (plants: readonly Plant[]) =>
  lines(plants).map((line) =>
    line
      .replace("{", "{\n  ")
      .replace(/,(?="name")/, ",\n  ")
      .replace(/}$/, "\n}"),
  );

const layouts: Readonly<Record<string, Layout>> = {
  "plants.csv": (plants) =>
    ["id,name,tag", ...plants.map((plant) => formatCsvRecord(plantStore, plant)), ""].join("\n"),
  "plants.ndjson": (plants) => lines(plants).join("\n"),
  "one-line.json": (plants) => `[${lines(plants).join()}]`,
  "pretty-array.json": (plants) => `[\n${pretty(plants).join(",\n")}\n]\n`,
  "pretty.json": (plants) => pretty(plants).join("\n"),
};

const words = [
  "Monstera",
  "Fougère",
  "植物",
  'say "x"',
  "a, b",
  "c; d",
  "e|f",
  "{",
  "}]",
  "\\",
  "two\nlines",
];

function randomPlants(random: Random): Plant[] {
  const ids = new Set(Array.from({ length: 12 }, () => random.int64()));
  return [...ids].map((id, index) => {
    const name = `${random.pick(words)} ${index} ${random.pick(words)}`;
    return plantOf(random.chance(0.5) ? { id, name } : { id, name, tag: `${random.pick(words)}${index}` });
  });
}

/** With other line ends, delimiters and encodings, some of which a format does not have. */
function asBrought(random: Random, text: string): Buffer {
  switch (random.below(6)) {
    case 0:
      return Buffer.from(text, "latin1");
    case 1:
      return Buffer.from(text.replaceAll("\n", random.pick(["\r\n", "\r\r\n", "\r"])));
    case 2:
      return Buffer.from(text.replaceAll(/,(?! )/g, random.pick([";", "\t", "|"])));
    default:
      return Buffer.from(text);
  }
}

/** Damages bytes in a place; of the records at its edges others may become. */
function damage(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length);
  const end = Math.min(bytes.length, at + 1 + random.below(random.pick([1, 4, 40, 400])));
  const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  switch (random.below(5)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return before;
    case 2:
      return Buffer.concat([before, part, part, after]);
    case 3:
      return Buffer.concat([before, Buffer.from([random.below(256)]), bytes.subarray(at + 1)]);
    default:
      return Buffer.concat([
        before,
        Buffer.from(random.pick(['"', ",", "\n", "{", "}", "]", "\r", "\ufeff", "\0"])),
        part,
        after,
      ]);
  }
}

function packed(random: Random, bytes: Buffer): Buffer {
  const text = bytes.toString();
  const isUtf8 = Buffer.from(text).equals(bytes);
  switch (random.below(6)) {
    case 0:
      return gzipSync(bytes);
    case 1:
      return isUtf8 ? Buffer.from(`\ufeff${text}`, "utf16le") : bytes;
    case 2:
      return Buffer.concat([Buffer.from("\ufeff"), bytes]);
    default:
      return bytes;
  }
}

/** Imports a file into an empty store in memory, in pieces of any size. */
async function importFile(random: Random, file: Buffer, name: string) {
  const created = new Map<PlantId, string>();
  const read: ImportRecord[] = [];
  const rejected: RejectedRecord[] = [];
  let header = "";
  let ignored: readonly string[] = [];
  let error: string | undefined;
  const store = {
    collection: plantStore,
    create: async (batch: readonly NewEntry[]): Promise<Outcome[]> =>
      batch.map(({ plant }) => {
        const json = plantJson(plantStore, plant);
        const stored = created.get(plant.id);
        if (stored !== undefined) return stored === json ? "unchanged" : "conflict";
        created.set(plant.id, json);
        return "created";
      }),
  };
  async function* pieces() {
    for (let at = 0; at < file.length; ) {
      const end = at + 1 + random.below(200);
      yield file.subarray(at, end);
      at = end;
    }
  }
  try {
    const { format, chunks } = await openContent(pieces(), { name, named: formatOfName(name) });
    const records = readRecords(plantStore, format, chunks, {
      recordBytesMax: 2 ** 20,
      onHeader: (found) => {
        header = found.text;
        ignored = found.ignored;
      },
    });
    const seen = (async function* () {
      for await (const some of records) {
        read.push(...some);
        yield some;
      }
    })();
    const onRejected = (record: RejectedRecord) => rejected.push(record);
    await importPlants(seen, store, {
      counts: newCounts(),
      onRejected,
      signal: new AbortController().signal,
    });
  } catch (thrown) {
    if (!(thrown instanceof OperatorError)) throw thrown;
    error = thrown.message;
  }
  return { created: new Set(created.values()), read, rejected, header, ignored, error };
}

test.each(Object.entries(layouts))("damaged files: %s", async (name, layout) => {
  const isCsv = name === "plants.csv";
  const lineEnd = isCsv ? /\r{0,2}\n|\r/g : /\n/g;
  // One byte of a byte order mark is none of a record.
  const separators = isCsv ? /^[\s,;|]*$/ : name.endsWith(".json") ? /^[[\],\s\ufffd]*$/ : /^\s*$/;
  let [faults, plants] = [0, 0];
  for (let seed = 1; seed <= damagesPerFormat; seed++) {
    const random = new Random(seed);
    const file = asBrought(random, layout(randomPlants(random)));
    const before = await importFile(random, file, name);
    const damaged = damage(random, file);
    const { created, read, rejected, header, ignored, error } = await importFile(
      random,
      packed(random, damaged),
      name,
    );
    const text = damaged.toString();
    const about = JSON.stringify({ seed, text, error, rejected, created: [...created] });

    // Nothing is invented: only records at the edges of the damage may be others than before. A
    // damaged name of an optional column is a column that is ignored, which is said.
    const others = [...created].filter((plant) => !before.created.has(plant));
    if (ignored.length === 0 && others.length > 2) throw new Error(`Invented: ${others} ${about}`);

    const starts = [0, ...Array.from(text.matchAll(lineEnd), ({ index, 0: end }) => index + end.length)];
    const offsetOf = (line: number, column: number) => (starts[line - 1] ?? Infinity) + column - 1;

    // A rejection says where: its text stands there.
    for (const { line, column = 1, text: own } of rejected) {
      const offset = offsetOf(line, column);
      // Columns count neither byte order marks nor bytes that are not UTF-8.
      const [there] = text.slice(starts[line - 1]).split(lineEnd);
      const stands = /[\ufeff\ufffd]/.test(there ?? "") || text.startsWith(own, offset);
      if (!stands) throw new Error(`Elsewhere: line ${line}, column ${column} ${about}`);
    }

    // Nothing is lost: each character is one of the header, of a record that was stored or
    // rejected, or between records, or comes after the place of an error.
    const invalid = text.match(/\ufffd/g)?.length ?? 0;
    const readUntil = error === undefined ? text.length : errorOffset(error) - invalid;
    let [between, at] = ["", 0];
    for (const { text: own, plant } of read) {
      const isStored = !(plant instanceof ApiError) && created.has(plantJson(plantStore, plant));
      const place = text.indexOf(own, at);
      if (place === -1 || !(isStored || rejected.some((each) => each.text === own)))
        throw new Error(`Lost: ${own} ${about}`);
      between += text.slice(at, place);
      at = place + own.length;
    }
    between += text.slice(at, Math.max(at, readUntil));
    if (!separators.test(between.replace(header, ""))) throw new Error(`Lost: ${between} ${about}`);
    function errorOffset(message: string): number {
      const [, line, column = 1] = /line (\d+)(?:, column (\d+))?/.exec(message) ?? [];
      return line === undefined ? 0 : offsetOf(Number(line), Number(column));
    }
    if (rejected.length > 0 || error !== undefined) faults++;
    plants += created.size;
  }
  // The damages were neither harmless nor fatal.
  expect(faults).toBeGreaterThan(damagesPerFormat / 2);
  expect(plants).toBeGreaterThan(2 * damagesPerFormat);
});
