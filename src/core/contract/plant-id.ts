// The id of a resource: an int64, or a text that is compared by its bytes; and the ids that are
// made for resources without one.

import type { FieldType } from "./values/stored-types.ts";

export type PlantId = bigint | string;

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
  /** 26 digits of base 32, as a ULID has them. */
  base32(bytes: Buffer): string {
    let rest = BigInt(`0x${bytes.toString("hex")}`);
    let text = "";
    for (; text.length < 26; rest >>= 5n) text = base32Digits.charAt(Number(rest & 31n)) + text;
    return text;
  },
  /** 24 hexadecimal digits, as an ObjectId of MongoDB has them. */
  hex: (bytes: Buffer) => bytes.toString("hex", 0, 12),
} as const;

/** Crockford's digits. */
export const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A text of 16 bytes, of which the first six may be a time. */
export function encodeId(format: Exclude<IdFormat, "int64">, bytes: Buffer, version: 7 | 8): string {
  return encodings[format](bytes, version);
}

/** The format of ids that a type accepts; undefined if it accepts none of these. */
export function idFormatOf({ kind, parse }: FieldType<PlantId>): IdFormat | undefined {
  if (kind === "integer") {
    const samples = ["1", "9007199254740993", "9223372036854775806", "9223372036854775807"];
    return samples.every((sample) => parse(sample) !== undefined) ? "int64" : undefined;
  }
  const samples = [0x00, 0x5a, 0xff].map((byte) => Buffer.alloc(16, byte));
  // The first that fits: a text without a pattern has 26 digits.
  return (["base32", "uuid", "hex"] as const).find((format) =>
    samples.every((bytes) =>
      ([7, 8] as const).every((version) => {
        const id = encodeId(format, bytes, version);
        const parsed = parse(id);
        return parsed !== undefined && parse(String(parsed)) === parsed;
      }),
    ),
  );
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
