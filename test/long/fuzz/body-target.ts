// The parser of bodies, compared with the oracle of test/support/oracle.ts.

import { ApiError } from "../../../src/core/contract/errors.ts";
import { newPlantJson, parseNewPlant } from "../../../src/core/contract/plant.ts";
import { parseBody } from "../../support/oracle.ts";
import type { FuzzTarget } from "./target.ts";

export const target: FuzzTarget = {
  name: "body",
  seeds: [
    '{"id":1,"name":"Monstera","tag":"tropical"}',
    '\ufeff { "tag" : "a" , "name" : "\\u00e9\\ud83c\\udf31" , "id" : -9223372036854775808 }\r\n',
    '{"id":9007199254740993.000e0,"name":"","other":[{"id":1e400},null,true,false,"\\"\\\\\\/\\b\\f\\n\\r\\t"]}',
    '{"name":"a","name":"b","id":"x","id":922337203685477580.7e1}',
    '{"id":1.5,"name":null,"tag":3}',
    '{"id":1,"name":[1],"tag":{"tag":[1e400]}}',
    '{"id":4503599627370497.5,"name":"a"}',
    '{"id":9223372036854775808,"name":"a"}',
    '{"id":9007199254740993.5,"name":"a"}',
    '{"id":1.00000000000000000001e0,"name":"a"}',
    '{"id":1,"name":"\\u0000","tag":"\\ud800"}',
    "[[[1]]]",
    '"é🌱"',
  ],
  words: [
    ...'{}[]:,"\\',
    ...[
      '"id"',
      '"name"',
      '"tag"',
      '"id":',
      '"name":"',
      '"tag":"',
      ',"id":',
      ',"name":',
      "null",
      "true",
      "false",
    ],
    ...["__proto__", '"__proto__":', '"\\u0069d":', "\\u0000", "\\ud83c", "\\udf31", "\\u", '\\"', "\\\\"],
    ...["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"],
    ...[
      "9007199254740991",
      "9007199254740993",
      "e",
      "E+",
      "e-",
      "e1",
      "e-1",
      "e400",
      ".0",
      ".5",
      "-0",
      "00",
      "1e19",
    ],
    ...["\ufeff", "\u2028", "é", "🌱", " ", "\r\n", "\t", "\0"],
  ],
  open: () => Promise.resolve(),
  close: () => Promise.resolve(),
  run: (input) => parseNewPlant(input),
  check(input, result) {
    const expected = parseBody(input);
    if (expected === undefined) return;
    const given = result instanceof ApiError ? result.code : result;
    if (!Bun.deepEquals(given, expected, true))
      throw new Error(`read as ${Bun.inspect(given)}, but the oracle returns ${Bun.inspect(expected)}`);
    if (result instanceof ApiError) checkMessage(result);
    else checkRoundTrip(result as Parameters<typeof newPlantJson>[0]);
  },
};

/** A message must end with a period, be short for every body, and be well-formed Unicode. */
function checkMessage({ message }: ApiError): void {
  if (!message.endsWith(".") || message.length > 1_000 || !message.isWellFormed())
    throw new Error(`the message is not a sentence: ${message}`);
}

function checkRoundTrip(plant: Parameters<typeof newPlantJson>[0]): void {
  const again = parseNewPlant(new TextEncoder().encode(newPlantJson(plant)));
  if (!Bun.deepEquals(again, plant, true))
    throw new Error(`exported and read again it is ${Bun.inspect(again)}, not ${Bun.inspect(plant)}`);
}
