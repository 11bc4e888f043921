// Numbers with restrictions: exact limits and multiples.

import { contractError } from "./contract-error.ts";
import { decimalDigitsMax, scaledDecimal } from "./decimal.ts";
import type { Json } from "./schemas.ts";

/** A number as an integer, times ten to the power of 38. */
type Scaled = bigint;
const one: Scaled = 10n ** BigInt(decimalDigitsMax);

interface NumberLimits {
  /** Such as " of at least 1", or "". */
  readonly words: string;
  accepts(value: Scaled): boolean;
}

/** The limits of `minimum`, `maximum`, their exclusive forms, `multipleOf` and `enum`. */
export function numberLimits(schema: Json, pointer: string): NumberLimits {
  const limit = (keyword: string) => {
    const value = schema[keyword];
    return value === undefined ? undefined : exactly(value, keyword, pointer);
  };
  const [minimum, maximum, above, below, multiple] = [
    limit("minimum"),
    limit("maximum"),
    limit("exclusiveMinimum"),
    limit("exclusiveMaximum"),
    limit("multipleOf"),
  ];
  if (multiple !== undefined && multiple <= 0n) throw contractError(pointer, "multipleOf must be above 0");
  const values = Array.isArray(schema.enum)
    ? new Set(schema.enum.map((value) => exactly(value, "enum", pointer)))
    : undefined;
  const words = [
    minimum !== undefined && `at least ${schema.minimum}`,
    above !== undefined && `above ${schema.exclusiveMinimum}`,
    maximum !== undefined && `at most ${schema.maximum}`,
    below !== undefined && `below ${schema.exclusiveMaximum}`,
    multiple !== undefined &&
      multiple !== one &&
      !isDecimalUnit(schema.multipleOf) &&
      `a multiple of ${schema.multipleOf}`,
    values !== undefined && `one of ${(schema.enum as unknown[]).join(", ")}`,
  ].filter((each) => each !== false);
  return {
    words: words.length === 0 ? "" : `, ${words.join(" and ")}`,
    accepts: (value) =>
      (minimum === undefined || value >= minimum) &&
      (maximum === undefined || value <= maximum) &&
      (above === undefined || value > above) &&
      (below === undefined || value < below) &&
      (multiple === undefined || value % multiple === 0n) &&
      (values === undefined || values.has(value)),
  };
}

export function scaledInteger(value: bigint): Scaled {
  return value * one;
}

/** The digits after the point of a multipleOf such as 0.01; undefined for another. */
export function fractionDigits(multipleOf: unknown): number | undefined {
  if (!isDecimalUnit(multipleOf)) return undefined;
  return Math.round(-Math.log10(multipleOf as number));
}

function isDecimalUnit(value: unknown): boolean {
  return typeof value === "number" && value <= 1 && /^(?:1|0\.0*1|1e-\d+)$/.test(String(value));
}

function exactly(value: unknown, keyword: string, pointer: string): Scaled {
  const scaled = typeof value === "number" ? scaledDecimal(String(value).replace("e+", "e")) : undefined;
  if (scaled === undefined) throw contractError(pointer, `${keyword} must be a number of at most 38 digits`);
  // JSON.parse has rounded it, so the exact limit is unknown. Past int64 nothing is compared.
  if (Math.abs(value as number) > Number.MAX_SAFE_INTEGER && Math.abs(value as number) < 2 ** 63)
    throw contractError(pointer, `${keyword} is past 2^53, where limits are not exact; leave it out`);
  return scaled;
}
