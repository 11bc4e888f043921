// Hostile bodies: huge, deeply nested, almost JSON, almost UTF-8, almost a NewPlant.

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
  ["a lone surrogate", '"\\ud800"', "created"],
  ["NaN", "NaN", "invalidJson"],
  ["Infinity", "Infinity", "invalidJson"],
  ["a leading zero", "01", "invalidJson"],
  ["a leading plus", "+1", "invalidJson"],
  ["a leading point", ".1", "invalidJson"],
  ["a trailing point", "1.", "invalidJson"],
  ["hexadecimal", "0x1", "invalidJson"],
  ["an underscore", "1_0", "invalidJson"],
  ["a bigint", "1n", "invalidJson"],
  ["single quotes", "'x'", "invalidJson"],
  ["a comment", "1/* */", "invalidJson"],
  ["undefined", "undefined", "invalidJson"],
  ["True", "True", "invalidJson"],
  ["a trailing comma", "[1,]", "invalidJson"],
  ["a hole", "[1,,2]", "invalidJson"],
  ["a raw line end in a string", '"a\nb"', "invalidJson"],
  ["a raw tab in a string", '"a\tb"', "invalidJson"],
  ["a raw NUL in a string", '"a\0b"', "invalidJson"],
  ["\\x41", '"\\x41"', "invalidJson"],
  ["\\u with three digits", '"\\u041"', "invalidJson"],
  ["\\U", '"\\U00000041"', "invalidJson"],
  ["a vertical tab around it", "\x0b1", "invalidJson"],
  ["a no-break space around it", "\xc2\xa01", "invalidJson"],
  ["a line separator around it", "\xe2\x80\xa81", "invalidJson"],
];

/** Invalid UTF-8 (RFC 3629) in the middle of a string. */
const notUtf8: readonly [name: string, bytes: string][] = [
  ["a continuation alone", "\x80"],
  ["a start alone", "\xc3"],
  ["two bytes of three", "\xe2\x82"],
  ["three bytes of four", "\xf0\x9f\x8c"],
  ["NUL in two bytes", "\xc0\x80"],
  ["a slash in two bytes", "\xc0\xaf"],
  ["a slash in three bytes", "\xe0\x80\xaf"],
  ["a slash in four bytes", "\xf0\x80\x80\xaf"],
  ["a high surrogate", "\xed\xa0\x80"],
  ["a low surrogate", "\xed\xb0\x80"],
  ["a pair of surrogates", "\xed\xa0\x80\xed\xb0\x80"],
  ["past U+10FFFF", "\xf4\x90\x80\x80"],
  ["five bytes", "\xf8\x88\x80\x80\x80"],
  ["0xFF", "\xff"],
  ["0xFE", "\xfe"],
];

const bodies: readonly [name: string, body: string, ...Outcome[]][] = [
  ["nothing", "", "invalidJson"],
  ["a space", " ", "invalidJson"],
  ["NUL", "\0", "invalidJson"],
  ["null", "null", "invalidPlant"],
  ["an array of a NewPlant", "[$BODY]", "invalidPlant"],
  ["a string of a NewPlant", '"{}"', "invalidPlant"],
  ["two NewPlants", "$BODY$BODY", "invalidJson"],
  ["two NewPlants in lines", "$BODY\n$BODY", "invalidJson"],
  ["a NewPlant and NUL", "$BODY\0", "invalidJson"],
  ["a NewPlant and a comma", "$BODY,", "invalidJson"],
  ["a NewPlant behind a protection against inclusion", ")]}',\n$BODY", "invalidJson"],
  ["a NewPlant as a form", "id=$ID&name=Monstera", "invalidJson"],
  ["a NewPlant as XML", "<plant><id>$ID</id><name>Monstera</name></plant>", "invalidJson"],
  ["a NewPlant with space around it", "\r\n\t $BODY \r\n\t", "created"],
  ["a byte order mark", "\xef\xbb\xbf$BODY", "created"],
  ["two byte order marks", "\xef\xbb\xbf\xef\xbb\xbf$BODY", "invalidJson"],
  ["UTF-16", "\xff\xfe{\0}\0", "invalidJson"],
  ["UTF-16 without a mark", "{\0}\0", "invalidJson"],
  ["UTF-32", "\xff\xfe\0\0{\0\0\0}\0\0\0", "invalidJson"],
  ["gzip", "\x1f\x8b\x08\0\0\0\0\0", "invalidJson"],
  ["names with escapes", '{"\\u0069d":$ID,"n\\u0061me":"Monstera"}', "created"],
  ["an id twice, the last one good", '{"id":"x","id":$ID,"name":"Monstera"}', "created"],
  ["an id twice, the first one good", '{"id":$ID,"id":"x","name":"Monstera"}', "invalidPlant"],
  ["a name twice, the last one good", '{"id":$ID,"name":"smuggled","name":"Monstera"}', "created"],
  ["__proto__ with the fields", '{"__proto__":{"id":$ID,"name":"Monstera"}}', "invalidPlant"],
  ["__proto__ besides", '{"id":$ID,"name":"Monstera","__proto__":{"tag":"smuggled"}}', "created"],
  ["constructor besides", '{"id":$ID,"name":"Monstera","constructor":{"prototype":{"tag":"x"}}}', "created"],
  ["toString as a number", '{"id":$ID,"name":"Monstera","toString":1,"valueOf":2,"toJSON":3}', "created"],
  ["the id as text", '{"id":"$ID","name":"Monstera"}', "invalidPlant"],
  ["the id as an array", '{"id":[$ID],"name":"Monstera"}', "invalidPlant"],
  ["the id as true", '{"id":true,"name":"Monstera"}', "invalidPlant"],
  ["the id with a fraction", '{"id":$ID.5,"name":"Monstera"}', "invalidPlant"],
  [
    "the id with a fraction that a double loses",
    '{"id":$ID.00000000000000000001,"name":"Monstera"}',
    "invalidPlant",
  ],
  ["the id with a fraction of zeros", '{"id":$ID.000,"name":"Monstera"}', "created"],
  ["the id over int64", '{"id":9223372036854775808,"name":"Monstera"}', "invalidPlant"],
  ["the id under int64", '{"id":-9223372036854775809,"name":"Monstera"}', "invalidPlant"],
  ["the id as 1e400", '{"id":1e400,"name":"Monstera"}', "invalidPlant"],
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
  ["no name", '{"id":$ID}', "invalidPlant"],
  ["the name as an object", '{"id":$ID,"name":{"toString":"x"}}', "invalidPlant"],
  ["a tag that is null", '{"id":$ID,"name":"Monstera","tag":null}', "invalidPlant"],
  ["NUL in the name", '{"id":$ID,"name":"\\u0000"}', "unstorableText"],
  ["half a pair in the name", '{"id":$ID,"name":"\\ud83c"}', "unstorableText"],
  ["a pair the wrong way round", '{"id":$ID,"name":"\\udf31\\ud83c"}', "unstorableText"],
  ["NUL in the tag", '{"id":$ID,"name":"Monstera","tag":"a\\u0000"}', "unstorableText"],
  ["a megabyte of NULs in the name", `{"id":$ID,"name":"${"\\u0000".repeat(160_000)}"}`, "unstorableText"],
  ["one byte over the limit", `{"id":$ID,"name":"Monstera"}${" ".repeat(MiB - 30)}`, "contentTooLarge"],
];

export const badBodies: readonly HostileRequest[] = [
  ...bodies.map(([name, body, ...allowed]) => whole(name, body, allowed)),
  ...besides.map(([name, value, ...allowed]) =>
    whole(`${name} besides`, `{"id":$ID,"name":"Monstera","x":${value}}`, allowed),
  ),
  ...notUtf8.map(([name, bytes]) =>
    whole(`${name} in a string`, `{"id":$ID,"name":"Monstera","x":"${bytes}"}`, ["invalidJson"]),
  ),
];

/** A create with this body, and its length after $ID and $BODY are substituted. */
function whole(name: string, body: string, allowed: readonly Outcome[]): HostileRequest {
  const bytes = body.replaceAll("$BODY", bodyOf(firstId)).replaceAll("$ID", String(firstId)).length;
  return create(name, { body, framing: `Content-Length: ${bytes}` }, ...allowed);
}
