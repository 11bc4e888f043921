// Makes numbers within the limits of schemas, with all their digits, for examples.

import { exactNumber, parseJsonNumber } from "../../json/exact-json.ts";
import { type Json, numberText } from "../../json/json-values.ts";
import { numberFormat } from "./formats.ts";

/** Digits before and after the point that are counted with. Whoever asks for a number checks it. */
const digitsMax = 400;

/**
 * A number that schemas allow: the least one, or else one near 1; undefined if none is found.
 *
 * @param at how many numbers that are as good come before it.
 */
export function sampleNumber(schemas: readonly Json[], isInteger: boolean, at = 0): unknown {
  const numbers = (name: string) =>
    schemas.flatMap((schema) => parseJsonNumber(numberText(schema[name]) ?? "") ?? []);
  const [minima, above] = [numbers("minimum"), numbers("exclusiveMinimum")];
  const [maxima, below, steps] = [numbers("maximum"), numbers("exclusiveMaximum"), numbers("multipleOf")];
  const all = [...minima, ...above, ...maxima, ...below, ...steps];
  if (all.some(({ digits, exponent }) => digits.length + Math.abs(exponent) > digitsMax)) return undefined;
  // Limits that exclude their number leave room for others beside it.
  const scale = Math.max(0, ...all.map(({ exponent }) => -exponent)) + (isInteger ? 0 : 1);
  const scaled = ({ sign, digits, exponent }: (typeof all)[number]) =>
    BigInt(sign + digits) * 10n ** BigInt(exponent + scale);
  const formats = schemas.flatMap(({ format }) => numberFormat(format) ?? []);
  const ranges = formats.filter((format) => format.isInteger);
  const one = 10n ** BigInt(scale);
  const least = greatest(
    minima.map(scaled),
    above.map((each) => scaled(each) + 1n),
    ranges.flatMap(({ minimum }) => (minimum === 0 ? 0n : [])),
  );
  const most = greatest(
    maxima.map((each) => -scaled(each)),
    below.map((each) => 1n - scaled(each)),
    ranges.map(({ maximum }) => -BigInt(maximum) * one),
  );
  const multiple = steps.map(scaled).reduce(leastCommonMultiple, isInteger || ranges.length > 0 ? one : 0n);
  // Numbers without a step are whole, if there is a whole one.
  for (const step of multiple === 0n ? [one, 1n] : [multiple]) {
    const wanted = least ?? (most !== undefined && -most < one ? -most - step + 1n : one);
    const start = ceiling(wanted, step);
    if (most !== undefined && start > -most) continue;
    const count = most === undefined ? BigInt(at) + 1n : (-most - start) / step + 1n;
    return exactNumber(`${start + (BigInt(at) % count) * step}e-${scale}`);
  }
  return undefined;
}

function greatest(...some: readonly (readonly bigint[])[]): bigint | undefined {
  const all = some.flat();
  return all.length === 0 ? undefined : all.reduce((one, other) => (one > other ? one : other));
}

function ceiling(value: bigint, step: bigint): bigint {
  const rest = ((value % step) + step) % step;
  return rest === 0n ? value : value + step - rest;
}

function leastCommonMultiple(one: bigint, other: bigint): bigint {
  if (one === 0n || other <= 0n) return one === 0n ? other : one;
  let [divisor, rest] = [one, other];
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest];
  return (one / divisor) * other;
}
