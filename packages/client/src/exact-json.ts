// Parses and writes JSON in which integers keep all digits. Node 20's JSON.parse does not show its
// reviver the digits of a number, and JSON.stringify throws for a bigint.

import { parse, stringify } from "lossless-json";

/**
 * Types of openapi-typescript in which each `number` may be a `bigint`: an integer beyond the safe
 * integers is one.
 */
export type Exact<T> = T extends number
  ? number extends T
    ? number | bigint
    : T
  : T extends object
    ? { [Name in keyof T]: Exact<T[Name]> }
    : T;

/** Parses as JSON.parse does, but an integer beyond the safe integers is a bigint. */
export function parseExact(text: string): unknown {
  return parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue });
}

function parseNumber(text: string): number | bigint {
  const number = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/**
 * Writes JSON as JSON.stringify does, and a bigint with all of its digits. Throws a TypeError for a
 * number beyond the safe integers, which may have lost some, and for NaN.
 */
export function stringifyExact(value: unknown): string {
  return stringify(value, refuseInexact) as string;
}

function refuseInexact(name: string, value: unknown): unknown {
  if (typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  throw new TypeError(
    `"${name}" is the number ${value}, which JSON may not have exactly; use a bigint, such as 9007199254740993n`,
  );
}
