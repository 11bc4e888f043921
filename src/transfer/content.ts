// Recognizes the format of a file by its first bytes: people bring files of spreadsheets and other
// programs under any name.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { OperatorError } from "../base/operator-error.ts";
import type { FileFormat } from "./file-format.ts";
import type { FormatName } from "./format-names.ts";

/** The bytes that decide. */
const headBytes = 512;

/** The name and the formats of a file that are known before it is read. */
export interface ContentNames {
  /** For messages. */
  readonly name: string;
  /** The format that the user has given. */
  readonly given?: FormatName | undefined;
  /** The format that the name of the file implies. */
  readonly named: FormatName | undefined;
}

/** A file as UTF-8, and its format. */
interface Content {
  readonly format: FileFormat;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Unpacks gzip, once, and decodes UTF-16, and finds the format: the given one, or else that of the
 * content, or else that of the name. Rejects with an OperatorError for a file of another kind,
 * which says what it is.
 */
export async function openContent(
  source: AsyncIterable<Uint8Array>,
  options: ContentNames,
  isUnpacked = false,
): Promise<Content> {
  const { name, given, named } = options;
  const { head, chunks } = await peek(source);
  if (!isUnpacked && head[0] === 0x1f && head[1] === 0x8b)
    return openContent(unpacked(chunks, name), options, true);
  const encoding =
    head[0] === 0xff && head[1] === 0xfe
      ? "utf-16le"
      : head[0] === 0xfe && head[1] === 0xff
        ? "utf-16be"
        : undefined;
  if (encoding !== undefined) return openContent(decoded(chunks, encoding, name), options, true);
  const start = Buffer.from(head)
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "");
  const isKind = (each: string | RegExp) =>
    typeof each === "string" ? start.startsWith(each) : each.test(start);
  const [, kind] = kinds.find(([each]) => isKind(each)) ?? [];
  if (kind !== undefined) throw new OperatorError(`${name} is ${kind}`, 2);
  if (isBinary(head))
    throw new OperatorError(
      `${name} is no text; import CSV or JSON in UTF-8, or in UTF-16 that begins so`,
      2,
    );
  return { format: given === "csv" ? "csv" : formatOf(start, given, named), chunks };
}

/** Files of other kinds, by how they begin in Latin-1, with what to do. */
const kinds: readonly (readonly [start: string | RegExp, sentence: string])[] = [
  ["PK\x03\x04", "a ZIP archive or a workbook (xlsx, ods); unpack it, or save the sheet as CSV in UTF-8"],
  ["\xd0\xcf\x11\xe0", "a workbook of Excel; save the sheet as CSV in UTF-8"],
  ["%PDF-", "a PDF; import the table that it was made from"],
  [
    /^\s*<(?:!doctype|html|\?xml)/i,
    "a page of HTML or XML, perhaps that of a log-in; import the file itself",
  ],
  ["\x1f\x8b", "compressed twice with gzip; unpack it once"],
  ["BZh", "compressed with bzip2; unpack it first"],
  ["\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"],
  ["\xfd7zXZ", "compressed with xz; unpack it first"],
];

/** Whether one byte in 20 is a control character: a text that was damaged has fewer. */
function isBinary(head: Uint8Array): boolean {
  const controls = head.filter((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x20));
  return controls.length * 20 > head.length;
}

/** The format that the name of a file says; undefined if it says none. */
export function formatOfName(name: string): FormatName | undefined {
  const plain = name.replace(/\.gz$/i, "");
  if (/\.(?:csv|tsv|tab|txt)$/i.test(plain)) return "csv";
  return /\.(?:ndjson|jsonl|json)$/i.test(plain) ? "ndjson" : undefined;
}

/** JSON begins with a bracket; otherwise a line with a delimiter and without brackets is a header. */
function formatOf(start: string, given: FormatName | undefined, named: FormatName | undefined): FileFormat {
  if (/^\s*\[/.test(start) || spansLines(start)) return "json";
  if (/^\s*\{/.test(start)) return "ndjson";
  const [line = ""] = start.trimStart().split(/[\r\n]/, 1);
  return given ?? (/^[^{}[\]]*[,;\t|][^{}[\]]*$/.test(line) ? "csv" : (named ?? "ndjson"));
}

/**
 * Whether an object goes on in the next line, or another one follows it in its own. A line that ends
 * in a text, or after a value, was cut: only that line is rejected.
 */
function spansLines(start: string): boolean {
  const [, line, end] = /^\s*(\{[^\n]*)(\n?)/.exec(start) ?? [];
  if (line === undefined) return false;
  const brackets = line.replaceAll(/"(?:[^"\\]|\\.)*"/g, "text");
  let depth = 0;
  for (let at = 0; at < brackets.length; at++) {
    if (/[{[]/.test(brackets[at] as string)) depth++;
    else if (/[}\]]/.test(brackets[at] as string) && --depth === 0)
      return /^\s*\{/.test(brackets.slice(at + 1));
  }
  return end === "\n" && !brackets.includes('"') && /[{[,:]\s*$/.test(brackets);
}

/** The first bytes of a stream, up to the end of a line, and all of it: a pipe may stay open. */
async function peek(
  source: AsyncIterable<Uint8Array>,
): Promise<{ readonly head: Uint8Array; readonly chunks: AsyncIterable<Uint8Array> }> {
  const iterator = source[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < headBytes && !/\S[^\n]*\n/.test(Buffer.concat(first).toString("latin1"))) {
    const { done, value } = await iterator.next();
    if (done) break;
    first.push(value);
    bytes += value.length;
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head: Buffer.concat(first).subarray(0, headBytes), chunks: chunks() };
}

/**
 * A packed file may become so many times larger, as tables of real data do not: a megabyte of it
 * could hold an import for minutes, in which nobody notices that its client has left.
 */
const unpackedTimesMax = 100;

/** From here on that counts. */
const unpackedBytesMin = 64 * 2 ** 20;

async function* unpacked(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  const { createGunzip } = await import("node:zlib");
  const gunzip = createGunzip();
  let [packedBytes, bytes] = [0, 0];
  async function* counted() {
    for await (const chunk of chunks) {
      packedBytes += chunk.length;
      yield chunk;
    }
  }
  // Its error is that of reading.
  pipeline(Readable.from(counted()), gunzip).catch(() => undefined);
  try {
    for await (const chunk of gunzip) {
      bytes += chunk.length;
      if (bytes > Math.max(unpackedBytesMin, unpackedTimesMax * packedBytes))
        throw new OperatorError(
          `${name} becomes more than ${unpackedTimesMax} times larger when it is unpacked; import it unpacked`,
        );
      yield chunk;
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(
      `${name} is damaged: its gzip cannot be unpacked to the end; get it again, and import it again to continue`,
    );
  }
}

async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  encoding: "utf-16le" | "utf-16be",
  name: string,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const encoder = new TextEncoder();
  try {
    for await (const chunk of chunks) yield encoder.encode(decoder.decode(chunk, { stream: true }));
    yield encoder.encode(decoder.decode());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new OperatorError(`${name} is not UTF-16, although it begins so; save it as UTF-8`);
  }
}
