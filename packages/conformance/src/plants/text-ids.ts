// Writes ids that are texts: a run counts its ids, and each number has one text.

import { base32Digits, type IdFormat, numberedId } from "../../../../src/contract/plant-id.ts";

/** The numbers of ids that fit into each kind of text. */
export const textLimits = { least: 0n, greatest: 2n ** 47n };

/**
 * An id that `numberedId` has written has 48 bits of the number, and zeros but for the version and
 * the variant of a UUID. Only a server writes the other formats.
 */
const written: Readonly<Record<string, RegExp>> = {
  uuid: /\b([\da-f]{8})-([\da-f]{4})-8000-8000-0{12}\b/g,
  base32: /\b([\dA-HJKMNP-TV-Z]{10})0{16}\b/g,
  hex: /\b([\da-f]{12})0{12}\b/g,
};

/** A text in which each id is replaced by that of another number. */
export function replaceIds(text: string, format: IdFormat, replace: (number: bigint) => bigint): string {
  const pattern = written[format];
  if (pattern === undefined) return text;
  return text.replaceAll(pattern, (_, first: string, second: string) =>
    String(numberedId(format, replace(format === "base32" ? fromBase32(first) : fromHex(first, second)))),
  );
}

function fromHex(first: string, second: unknown): bigint {
  return BigInt(`0x${first}${typeof second === "string" ? second : ""}`);
}

function fromBase32(digits: string): bigint {
  return Array.from(digits).reduce((number, digit) => number * 32n + BigInt(base32Digits.indexOf(digit)), 0n);
}
