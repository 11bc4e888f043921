// Compares and makes the ids of resources: an id is an int64, or a text that is compared by its
// bytes.

import type { FieldType } from "./stored-types.ts";

export type PlantId = bigint | string;

/**
 * How a server writes an id that it chooses: as a positive integer of so many bits, or from the least
 * to the greatest, such as "1..9999"; or as a text of 16 bytes. Other texts are a prefix, and the first
 * digits of base 32, in one of the cases: "ses_:26:lower".
 */
export type IdFormat = IntegerFormat | TextFormat;
type IntegerFormat = "int64" | "int53" | `${bigint}..${bigint}`;
type TextFormat = keyof typeof encodings | `${string}:${number}:${"upper" | "lower"}`;

const encodings = {
  /** RFC 9562: version 7 begins with a time, and version 8 may be a hash. */
  uuid(bytes: Uint8Array, version: 7 | 8): string {
    const hex = hexOf(bytes);
    const variant = (((bytes[8] ?? 0) & 0x3f) | 0x80).toString(16);
    const last = variant + hex.slice(18, 20);
    return [hex.slice(0, 8), hex.slice(8, 12), version + hex.slice(13, 16), last, hex.slice(20)].join("-");
  },
  /** 26 digits of base 32, as a ULID has them. */
  base32(bytes: Uint8Array): string {
    let rest = BigInt(`0x${hexOf(bytes)}`);
    let text = "";
    for (; text.length < 26; rest >>= 5n) text = base32Digits.charAt(Number(rest & 31n)) + text;
    return text;
  },
  /** 24 hexadecimal digits, as an ObjectId of MongoDB has them. */
  hex: (bytes: Uint8Array) => hexOf(bytes).slice(0, 24),
} as const;

// Bytes are no Buffer: the types of the package need none of Node.js.
function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Crockford's digits. */
const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A text of 16 bytes, of which the first six may be a time. */
export function encodeId(format: TextFormat, bytes: Uint8Array, version: 7 | 8): string {
  if (Object.hasOwn(encodings, format)) return encodings[format as keyof typeof encodings](bytes, version);
  const [, prefix = "", length, letters] = /^(.*):(\d+):(.*)$/.exec(format) ?? [];
  // The first digit has but 3 bits.
  const digits = encodings.base32(bytes).slice(26 - Math.max(Number(length), 25), Number(length) + 1);
  return prefix + (letters === "lower" ? digits.toLowerCase() : digits);
}

/** The least and the greatest integer, where there are fewer than of 53 bits. */
export function idRange(format: IdFormat): readonly [least: bigint, greatest: bigint] | undefined {
  const [, least, greatest] = /^(\d+)\.\.(\d+)$/.exec(format) ?? [];
  return least === undefined || greatest === undefined ? undefined : [BigInt(least), BigInt(greatest)];
}

/** Whether ids are texts. */
export function isTextFormat(format: IdFormat): format is TextFormat {
  return format !== "int64" && format !== "int53" && idRange(format) === undefined;
}

/** The bits of a text that the server chooses. */
export function textBits(format: TextFormat): number {
  const named: Readonly<Record<string, number>> = { uuid: 122, base32: 128, hex: 96 };
  return named[format] ?? 5 * Number(format.split(":").at(-2));
}

/** The digits of texts with less room than the usual ones: a time and a counter need so many. */
const shorterDigits = [26, 24, 22, 21, 20, 18, 16, 15, 14, 12];

/**
 * The format of ids that a type accepts; undefined if it accepts none of these.
 *
 * @param schema of the type: its pattern may begin with the characters of a prefix.
 */
export function idFormatOf(
  { kind, parse }: FieldType<PlantId>,
  schema: Readonly<Record<string, unknown>> = {},
): IdFormat | undefined {
  const { pattern, type } = schema;
  if (kind.name === "integer") {
    const takes = (...numbers: readonly bigint[]) =>
      numbers.every((each) => parse(String(each)) !== undefined);
    // A client that describes a number has doubles.
    if (type !== "number" && takes(1n, 2n ** 53n + 1n, 2n ** 63n - 2n, 2n ** 63n - 1n)) return "int64";
    if (takes(1n, 2n, 2n ** 53n - 1n)) return "int53";
    return rangeOf(takes, schema);
  }
  const samples = [0x00, 0x5a, 0xff].map((byte) => Buffer.alloc(16, byte));
  const prefix = /^\^([\w-]+)(?![*?+{\w-])/.exec(String(pattern ?? ""))?.[1] ?? "";
  const shorter = shorterDigits.flatMap((length): TextFormat[] => [
    `${prefix}:${length}:upper`,
    `${prefix}:${length}:lower`,
  ]);
  // The first that fits: a text without a pattern has 26 digits.
  return ([...(["base32", "uuid", "hex"] as const), ...shorter] as TextFormat[]).find((format) =>
    samples.every((bytes) =>
      ([7, 8] as const).every((version) => {
        const id = encodeId(format, bytes, version);
        const parsed = parse(id);
        return parsed !== undefined && parse(String(parsed)) === parsed;
      }),
    ),
  );
}

/** All integers that a type accepts between two; undefined if it accepts only some of them. */
function rangeOf(
  takes: (...numbers: readonly bigint[]) => boolean,
  { minimum, exclusiveMinimum }: Readonly<Record<string, unknown>>,
): IntegerFormat | undefined {
  const lowest = Math.ceil(Math.max(Number(minimum ?? 1), Number(exclusiveMinimum ?? 0), 1));
  if (!Number.isSafeInteger(lowest)) return undefined;
  const least = [BigInt(lowest), BigInt(lowest) + 1n].find((each) => takes(each));
  if (least === undefined || !takes(least + 1n)) return undefined;
  let [greatest, above] = [least, 2n ** 53n];
  while (above - greatest > 1n) {
    const middle = (greatest + above) / 2n;
    if (takes(middle)) greatest = middle;
    else above = middle;
  }
  // Such as multiples of 10.
  return takes(least + 2n, (least + greatest) / 2n, greatest - 1n) ? `${least}..${greatest}` : undefined;
}

/** The id of a number, of at most 48 bits in a text: for examples, and for tests of a server. */
export function numberedId(format: IdFormat, number: bigint): PlantId {
  if (!isTextFormat(format)) return number + (idRange(format)?.[0] ?? 1n) - 1n;
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Number(number), 0, 6);
  return encodeId(format, bytes, 8);
}

/** A random id for a plant that is not kept, which need not fit the limits of its type. */
export function randomId({ type }: { readonly type: FieldType<PlantId> }): PlantId {
  if (type.kind.name !== "integer") return crypto.randomUUID();
  return crypto.getRandomValues(new BigInt64Array(1))[0] ?? 0n;
}

/** The order of two ids in every store: of integers by value, and of texts by their UTF-8 bytes. */
export function compareIds(one: PlantId, other: PlantId): number {
  if (one === other) return 0;
  if (typeof one === "string" && typeof other === "string")
    return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : 1;
}
