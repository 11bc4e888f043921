// Hostile bodies: huge, deeply nested, almost JSON. Short ones are in the fuzzer's corpus
// (test/long/fuzz), which compares each with an independent parser; a few of them are here too.

import { bodyOf, create, firstId, type HostileRequest, type Outcome } from "./hostile-request.ts";

const MiB = 2 ** 20;

/** Values of the member "x" in an otherwise valid NewPlant. */
const besides: readonly [name: string, value: string, ...Outcome[]][] = [
  [
    "400,000 arrays, one in the other",
    `${"[".repeat(400_000)}${"]".repeat(400_000)}`,
    "created",
    "invalidPlant",
    "invalidJson",
  ],
  [
    "100,000 objects, one in the other",
    `${'{"x":'.repeat(100_000)}1${"}".repeat(100_000)}`,
    "created",
    "invalidPlant",
    "invalidJson",
  ],
  ["a megabyte of brackets that stay open", "[".repeat(MiB - 100), "invalidJson"],
  ["a million zeros", `[${"0,".repeat(500_000)}0]`, "created"],
  ["a number of a million digits", "9".repeat(1_000_000), "created"],
  ["a number with an exponent of a million digits", `1e${"9".repeat(1_000_000)}`, "created"],
  ["a string of a megabyte", `"${"x".repeat(1_000_000)}"`, "created"],
  ["a string of 160,000 escapes", `"${"\\u0000".repeat(160_000)}"`, "created"],
  [
    "60,000 members",
    `{${Array.from({ length: 60_000 }, (_, index) => `"${index}":0`).join(",")}}`,
    "created",
  ],
  ["one member 60,000 times", `{${'"a":0,'.repeat(60_000)}"a":0}`, "created"],
  ["a byte that is not UTF-8", '"\xff"', "invalidJson"],
  ["a raw NUL in a string", '"a\0b"', "invalidJson"],
];

const bodies: readonly [name: string, body: string, ...Outcome[]][] = [
  ["nothing", "", "invalidJson"],
  ["NUL", "\0", "invalidJson"],
  ["an array of a NewPlant", "[$BODY]", "invalidPlant"],
  ["two NewPlants in lines", "$BODY\n$BODY", "invalidJson"],
  ["a NewPlant as a form", "id=$ID&name=Monstera", "invalidJson"],
  ["a NewPlant with space around it", "\r\n\t $BODY \r\n\t", "created"],
  ["a byte order mark", "\xef\xbb\xbf$BODY", "created"],
  ["UTF-16", "\xff\xfe{\0}\0", "invalidJson"],
  ["gzip", "\x1f\x8b\x08\0\0\0\0\0", "invalidJson"],
  ["a name twice, the last one good", '{"id":$ID,"name":"smuggled","name":"Monstera"}', "created"],
  ["__proto__ besides", '{"id":$ID,"name":"Monstera","__proto__":{"tag":"smuggled"}}', "created"],
  ["the id of a million digits", `{"id":${"9".repeat(1_000_000)},"name":"Monstera"}`, "invalidPlant"],
  [
    "the id with an exponent of a million digits",
    `{"id":1e${"9".repeat(1_000_000)},"name":"Monstera"}`,
    "invalidPlant",
  ],
  [
    "the id with a million zeros behind its point",
    `{"id":$ID.${"0".repeat(1_000_000)},"name":"Monstera"}`,
    "created",
  ],
  ["half a pair in the name", '{"id":$ID,"name":"\\ud83c"}', "unstorableText"],
  ["a megabyte of NULs in the name", `{"id":$ID,"name":"${"\\u0000".repeat(160_000)}"}`, "unstorableText"],
  ["one byte over the limit", `{"id":$ID,"name":"Monstera"}${" ".repeat(MiB - 30)}`, "contentTooLarge"],
];

export const badBodies: readonly HostileRequest[] = [
  ...bodies.map(([name, body, ...allowed]) => whole(name, body, allowed)),
  ...besides.map(([name, value, ...allowed]) =>
    whole(`${name} besides`, `{"id":$ID,"name":"Monstera","x":${value}}`, allowed),
  ),
];

/** A create with this body, and its length after $ID and $BODY are substituted. */
function whole(name: string, body: string, allowed: readonly Outcome[]): HostileRequest {
  const bytes = body.replaceAll("$BODY", bodyOf(firstId)).replaceAll("$ID", String(firstId)).length;
  return create(name, { body, framing: `Content-Length: ${bytes}` }, ...allowed);
}
