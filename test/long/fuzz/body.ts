// The parser of bodies, compared with the oracle.

import { ApiError } from "../../../src/base/errors.ts";
import type { Plant } from "../../../src/contract/contract.ts";
import { parsePlant, plantJson } from "../../../src/contract/plant.ts";
import { plantStore } from "../../support/contracts.ts";
import { parseBody } from "./oracle.ts";

/** Tokens of the grammar, which edits of single bytes would rarely produce. */
export const words = [
  ...'{}[]:,"\\',
  ...'"id" "name" "tag" "id": "name":" "tag":" ,"id": ,"name": null true false'.split(" "),
  ...'__proto__ "__proto__": "\\u0069d": \\u0000 \\ud83c \\udf31 \\u \\" \\\\'.split(" "),
  ...["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"],
  ..."9007199254740991 9007199254740993 e E+ e- e1 e-1 e400 .0 .5 -0 00 1e19".split(" "),
  ...["\ufeff", "\u2028", "é", "🌱", " ", "\r\n", "\t", "\0"],
];

/** Throws if an input is read otherwise than by the oracle. */
export function checkBody(input: Buffer): void {
  const result = parsePlant(plantStore, input);
  const expected = parseBody(input);
  if (expected === undefined) return;
  const given = result instanceof ApiError ? result.code : result;
  if (!Bun.deepEquals(given, expected, true))
    throw new Error(`read as ${Bun.inspect(given)}, but the oracle returns ${Bun.inspect(expected)}`);
  if (result instanceof ApiError) checkMessage(result);
  else checkRoundTrip(result);
}

/** A message must end with a period, be short for every body, and be well-formed Unicode. */
function checkMessage({ message }: ApiError): void {
  if (!message.endsWith(".") || message.length > 1_000 || !message.isWellFormed())
    throw new Error(`the message is not a sentence: ${message}`);
}

function checkRoundTrip(plant: Plant): void {
  const again = parsePlant(plantStore, new TextEncoder().encode(plantJson(plantStore, plant)));
  if (!Bun.deepEquals(again, plant, true))
    throw new Error(`exported and read again it is ${Bun.inspect(again)}, not ${Bun.inspect(plant)}`);
}
