// The id of a resource: an int64, or a text that is compared by its bytes; and the ids that are
// made for resources without one.

import { contractError } from "./contract-error.ts";
import type { FieldType } from "./field-types.ts";
import { fieldTypeOf, type TypeContext } from "./schema-types.ts";
import type { Json } from "./schemas.ts";

export type PlantId = bigint | string;

/** UTF-8 bytes of an id whose contract says nothing of its length. */
const bytesMaxDefault = 255;

/** PostgreSQL indexes texts of at most 2,704 bytes. */
const describedBytesMax = 2_048;

/**
 * The type of the ids of a schema. Rejects with an OperatorError if they are neither integers nor
 * texts.
 */
export async function idTypeOf(schema: Json, context: TypeContext): Promise<FieldType<PlantId>> {
  const type = await fieldTypeOf(schema, context);
  if (type.kind === "integer") return type as FieldType<bigint>;
  if (type.kind !== "text")
    throw contractError(context.pointer, `an id must be an integer or a string, but is ${type.expected}`);
  const bytesMax = schema.maxLength === undefined ? bytesMaxDefault : describedBytesMax;
  if (Number(schema.maxLength) * 4 > bytesMax)
    context.note(`ids of more than ${bytesMax} bytes are refused, as they are in an index`);
  const accept = (text: string | undefined) => {
    if (text === undefined || text === "" || Buffer.byteLength(text) > bytesMax) return undefined;
    // RFC 9562, section 4: it may be sent in either case.
    return schema.format === "uuid" ? text.toLowerCase() : text;
  };
  const { fromJson, parse } = type as FieldType<string>;
  return {
    ...(type as FieldType<string>),
    expected: type.expected === "a string" ? `a string of 1 to ${bytesMax} bytes` : type.expected,
    fromJson: (...sent) => accept(fromJson(...sent)),
    parse: (text) => accept(parse(text)),
  };
}

/** How a server writes an id that it chooses. All but "int64" are texts, of 16 bytes. */
export type IdFormat = "int64" | keyof typeof encodings;

const encodings = {
  /** RFC 9562: version 7 begins with a time, and version 8 may be a hash. */
  uuid(bytes: Buffer, version: 7 | 8): string {
    const hex = bytes.toString("hex");
    const variant = ((bytes.readUInt8(8) & 0x3f) | 0x80).toString(16);
    const last = variant + hex.slice(18, 20);
    return [hex.slice(0, 8), hex.slice(8, 12), version + hex.slice(13, 16), last, hex.slice(20)].join("-");
  },
  /** 26 digits of Crockford's base 32, as a ULID has them. */
  base32(bytes: Buffer): string {
    let rest = BigInt(`0x${bytes.toString("hex")}`);
    let text = "";
    for (; text.length < 26; rest >>= 5n) text = base32Digits.charAt(Number(rest & 31n)) + text;
    return text;
  },
  /** 24 hexadecimal digits, as an ObjectId of MongoDB has them. */
  hex: (bytes: Buffer) => bytes.toString("hex", 0, 12),
} as const;

const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A text of 16 bytes, of which the first six may be a time. */
export function encodeId(format: Exclude<IdFormat, "int64">, bytes: Buffer, version: 7 | 8): string {
  return encodings[format](bytes, version);
}

/** The format of ids that a type accepts; undefined if it accepts none of these. */
export function idFormatOf({ kind, parse }: FieldType<PlantId>): IdFormat | undefined {
  if (kind === "integer") return parse("9007199254740993") === undefined ? undefined : "int64";
  const sample = Buffer.alloc(16, "plants");
  // The first that fits: a text without a pattern has 26 digits.
  const names = ["base32", "uuid", "hex"] as const;
  return names.find((name) => parse(encodeId(name, sample, 7)) !== undefined);
}

/** The id of a number, of at most 48 bits in a text: for examples, and for tests of a server. */
export function numberedId(format: IdFormat, number: bigint): PlantId {
  if (format === "int64") return number;
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Number(number), 0, 6);
  return encodeId(format, bytes, 8);
}

/** A random id for a plant that is not kept, which need not fit the limits of its type. */
export function randomId({ type }: { readonly type: FieldType<PlantId> }): PlantId {
  if (type.kind !== "integer") return crypto.randomUUID();
  return crypto.getRandomValues(new BigInt64Array(1))[0] ?? 0n;
}

/** The order of two ids in every store: of integers by value, and of texts by their UTF-8 bytes. */
export function compareIds(one: PlantId, other: PlantId): number {
  if (one === other) return 0;
  if (typeof one === "string" && typeof other === "string")
    return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : 1;
}
