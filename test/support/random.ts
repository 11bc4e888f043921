// Random values: a generator with a seed, and plants for fast-check.

import fc from "fast-check";
import type { Collection, Field, Plant } from "../../src/contract/contract.ts";
import type { FieldValue } from "../../src/contract/stored-types.ts";
import { SeededRandom } from "../../src/sandbox/seeded-random.ts";
import { plantStore } from "./contracts.ts";

export class Random {
  readonly #generator: SeededRandom;

  constructor(seed: number) {
    this.#generator = new SeededRandom(seed >>> 0);
    // The first numbers of neighbouring seeds are alike.
    for (let round = 0; round < 4; round++) this.unit();
  }

  /** Another generator, independent of later calls of this one. */
  fork(): Random {
    return new Random(this.#next());
  }

  /** A number from 0 up to, but not including, 1. */
  unit(): number {
    return this.#generator.next();
  }

  /** A number from 0 up to, but not including, another. */
  below(end: number): number {
    return Math.floor(this.unit() * end);
  }

  /** A number from one to another, both included. */
  between(least: number, most: number): number {
    return least + this.unit() * (most - least);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError("There is nothing to pick from");
    return item;
  }

  /** Any int64, with those at the edges over-represented. */
  int64(): bigint {
    const edges = [0n, -1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
    if (this.chance(0.2)) return this.pick(edges);
    return BigInt.asIntN(64, (BigInt(this.#next()) << 32n) | BigInt(this.#next()));
  }

  /** An integer of 32 bits. */
  #next(): number {
    return this.unit() * 2 ** 32;
  }
}

/** Any Unicode scalar value. fast-check's own unit, "binary", takes 0.5 s to make. */
const scalarValue = fc
  .integer({ min: 0, max: 0x10_f7ff })
  .map((value) => String.fromCodePoint(value < 0xd800 ? value : value + 0x800));

export const anyString = fc.string({ unit: scalarValue });

// Characters that text handling often gets wrong are over-represented.
const unit = fc.oneof(
  scalarValue.filter((text) => text !== "\0"),
  fc.constantFrom(
    "\ufeff",
    "\ufffd",
    "\u0001",
    "\u007f",
    "\u0080",
    "\u00e9",
    "\u{10ffff}",
    '"',
    "\\",
    "\n",
    "=",
    "\u2028",
  ),
);

const anyText = fc.array(unit, { maxLength: 30 }).map((units) => units.join(""));

export const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 0n, 2n ** 53n + 1n, 2n ** 51n + 1n, -(2n ** 52n) - 1n),
);

/** Any value of a field, by its schema. */
function anyValue({ schema, type }: Field): fc.Arbitrary<FieldValue> {
  const { format, enum: values, pattern, minimum, maximum } = schema;
  const parsed = (text: string) => type.parse(text) as FieldValue;
  if (Array.isArray(values)) return fc.constantFrom(...(values as string[]));
  if (type.kind.name === "integer" && minimum === undefined && maximum === undefined) return anyInt64;
  if (type.kind.name === "integer")
    return fc.bigInt({
      min: BigInt((minimum as number | undefined) ?? -(2 ** 31)),
      max: BigInt((maximum as number | undefined) ?? 2 ** 31 - 1),
    });
  if (format === "date-time")
    return fc
      .date({ noInvalidDate: true, max: new Date("9999-01-01"), min: new Date("1000-01-01") })
      .map((date) => date.toISOString());
  if (type.kind.name === "decimal") return fc.nat().map((hundredths) => parsed(String(hundredths / 100)));
  if (type.kind.name === "boolean") return fc.boolean();
  if (type.kind.name === "text" && pattern === undefined)
    return anyText.filter((text) => type.parse(text) !== undefined);
  return fc.constantFrom(...(schema.examples as unknown[])).map((value) => parsed(JSON.stringify(value)));
}

/** Any plant of a contract. */
export function anyPlantOf({ fields }: Collection): fc.Arbitrary<Plant> {
  const values = fields.map((field) =>
    field.isRequired ? anyValue(field) : fc.option(anyValue(field), { nil: undefined }),
  );
  return fc.record({ id: anyInt64, values: fc.tuple(...values) });
}

/** Any plant of the Plant Store. */
export const anyPlant = anyPlantOf(plantStore);
