// Numbers with restrictions: exact limits and multiples.

import { contractError } from "../description/contract-error.ts";
import { type Scaled, scaledDecimal } from "../values/decimal.ts";
import type { Json } from "./schemas.ts";

interface NumberLimits {
  /** Such as " of at least 1", or "". */
  readonly words: string;
  accepts(value: Scaled): boolean;
}

const limits: readonly {
  readonly keyword: string;
  readonly words: string;
  accepts(value: Scaled, limit: Scaled): boolean;
}[] = [
  { keyword: "minimum", words: "at least", accepts: (value, limit) => value >= limit },
  { keyword: "exclusiveMinimum", words: "above", accepts: (value, limit) => value > limit },
  { keyword: "maximum", words: "at most", accepts: (value, limit) => value <= limit },
  { keyword: "exclusiveMaximum", words: "below", accepts: (value, limit) => value < limit },
  { keyword: "multipleOf", words: "a multiple of", accepts: (value, limit) => value % limit === 0n },
];

/** The limits of `minimum`, `maximum`, their exclusive forms, `multipleOf` and `enum`. */
export function numberLimits(schema: Json, pointer: string): NumberLimits {
  const words: string[] = [];
  const checks: ((value: Scaled) => boolean)[] = [];
  for (const { keyword, words: relation, accepts } of limits) {
    const written = schema[keyword];
    if (written === undefined) continue;
    const limit = exactly(written, keyword, pointer);
    if (keyword === "multipleOf" && limit <= 0n) throw contractError(pointer, "multipleOf must be above 0");
    checks.push((value) => accepts(value, limit));
    // Digits after the point are said in other words.
    if (keyword !== "multipleOf" || !isDecimalUnit(written)) words.push(`${relation} ${written}`);
  }
  if (Array.isArray(schema.enum)) {
    const values = new Set(schema.enum.map((value) => exactly(value, "enum", pointer)));
    checks.push((value) => values.has(value));
    words.push(`one of ${schema.enum.join(", ")}`);
  }
  return {
    words: words.length === 0 ? "" : `, ${words.join(" and ")}`,
    accepts: (value) => checks.every((check) => check(value)),
  };
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
  const scaled = typeof value === "number" ? scaledDecimal(String(value)) : undefined;
  if (scaled === undefined) throw contractError(pointer, `${keyword} must be a number of at most 38 digits`);
  // JSON.parse has rounded it, so the exact limit is unknown. Past int64 nothing is compared.
  if (Math.abs(value as number) > Number.MAX_SAFE_INTEGER && Math.abs(value as number) < 2 ** 63)
    throw contractError(pointer, `${keyword} is past 2^53, where limits are not exact; leave it out`);
  return scaled;
}
