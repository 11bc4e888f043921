// The messages of errors, but those of authentication; their statuses and codes are rules of
// src/conformance.

import { expect, test } from "bun:test";
import { freshId, plantJson, post, send } from "../../../support/http.ts";
import { sendRaw } from "../../../support/raw-connection.ts";
import { describeConformance } from "./targets.ts";

const bytes = (...values: number[]) => new Uint8Array(values);
const encoded = (text: string) => new TextEncoder().encode(text);

describeConformance("errors", (target) => {
  async function expectRejection(body: string | Uint8Array, error: number, message: string): Promise<void> {
    const answer = await post(target(), body);
    expect({ status: answer.status, json: answer.json }).toEqual({ status: 400, json: { error, message } });
  }

  const invalidJson: readonly [name: string, body: string | Uint8Array, message: string][] = [
    [
      "an empty body",
      "",
      "The body is not JSON: line 1, column 1: expected a value, found the end of the body.",
    ],
    [
      "a value that is missing",
      '{"id": 1,\n "name": }',
      'The body is not JSON: line 2, column 10: expected a value, found "}".',
    ],
    [
      "a body cut short",
      '{"id": 1',
      'The body is not JSON: line 1, column 9: expected "," or the closing bracket, found the end of the body.',
    ],
    [
      "a leading zero",
      '{"id": 01}',
      'The body is not JSON: line 1, column 9: expected "," or the closing bracket, found "1".',
    ],
    [
      "something behind the body",
      "{} x",
      'The body is not JSON: line 1, column 4: expected nothing more, found "x".',
    ],
    [
      "single quotes",
      "{'id': 1}",
      `The body is not JSON: line 1, column 2: expected a member name in double quotes or "}", found "'".`,
    ],
    [
      "a comma at the end",
      '{"id": 1,}',
      'The body is not JSON: line 1, column 10: expected a member name in double quotes, found "}".',
    ],
    [
      "a raw line feed in a string",
      '{"name": "a\nb"}',
      'The body is not JSON: line 1, column 12: expected control characters to be escaped, found "\\n".',
    ],
    [
      "a bad escape",
      '{"name": "\\x"}',
      'The body is not JSON: line 1, column 11: expected an escape such as \\n or \\u0041 after "\\", found "\\\\".',
    ],
    [
      "a string that does not end",
      '{"name": "a',
      "The body is not JSON: line 1, column 12: expected a closing double quote, found the end of the body.",
    ],
    ["NaN", '{"id": NaN}', 'The body is not JSON: line 1, column 8: expected a value, found "N".'],
    [
      "a megabyte of open brackets",
      "[".repeat(1_000_000),
      'The body is not JSON: line 1, column 1000001: expected a value or "]", found the end of the body.',
    ],
    [
      "a lone continuation byte",
      bytes(0x22, 0x80, 0x22),
      "The body is not UTF-8: invalid bytes at line 1, column 2; encode the JSON in UTF-8.",
    ],
    [
      "Latin-1",
      new Uint8Array([...encoded('{"id": 1,\n"name": "caf'), 0xe9, 0x22, 0x7d]),
      "The body is not UTF-8: invalid bytes at line 2, column 13; encode the JSON in UTF-8.",
    ],
    [
      "UTF-8 cut in a sequence",
      bytes(0x22, 0xef, 0xbf),
      "The body is not UTF-8: invalid bytes at line 1, column 2; encode the JSON in UTF-8.",
    ],
    [
      "an encoded surrogate",
      bytes(0x22, 0xed, 0xa0, 0x80, 0x22),
      "The body is not UTF-8: invalid bytes at line 1, column 2; encode the JSON in UTF-8.",
    ],
    [
      "an encoding that is longer than necessary",
      bytes(0x22, 0xc0, 0xaf, 0x22),
      "The body is not UTF-8: invalid bytes at line 1, column 2; encode the JSON in UTF-8.",
    ],
  ];
  test.each(invalidJson)("40001 for %s", (_, body, message) => expectRejection(body, 40001, message));

  const invalidPlant: readonly [body: string, message: string][] = [
    [
      "{}",
      '"name" is required and must be a string, but is missing; "id" is required and must be an integer (int64), but is missing',
    ],
    ["null", "it must be an object, but is null"],
    ["[]", "it must be an object, but is an array"],
    ['"plant"', "it must be an object, but is a string"],
    ["42", "it must be an object, but is the number 42"],
    ['{"id": 1}', '"name" is required and must be a string, but is missing'],
    ['{"name": "Monstera"}', '"id" is required and must be an integer (int64), but is missing'],
    ['{"id": 1, "name": "Monstera", "tag": null}', '"tag" must be a string, but is null'],
    [
      '{"id": "1", "name": 5, "tag": ["x"]}',
      '"name" must be a string, but is the number 5; "tag" must be a string, but is an array; "id" must be an integer (int64), but is a string',
    ],
    ['{"id": 1.5, "name": "Monstera"}', '"id" must be an integer (int64), but is the number 1.5'],
    [
      '{"id": true, "name": {}}',
      '"name" must be a string, but is an object; "id" must be an integer (int64), but is a boolean',
    ],
    [
      '{"id": 9223372036854775808}',
      '"id" must be an integer (int64), but is 9223372036854775808; "name" is required and must be a string, but is missing',
    ],
  ];
  test.each(invalidPlant)("40002 names every invalid field of %s", (body, sentences) =>
    expectRejection(body, 40002, `The body is not a NewPlant: ${sentences}.`),
  );

  const unstorableText: readonly [body: string, message: string][] = [
    [
      '{"id": 1, "name": "Monst\\u0000era"}',
      '"name" holds U+0000 at index 5, which cannot be stored: remove it.',
    ],
    [
      '{"id": 1, "name": "a", "tag": "\\ud800"}',
      '"tag" holds the unpaired surrogate U+D800 at index 0, which cannot be stored: remove it.',
    ],
    [
      '{"id": 1, "name": "🌱\\udc00", "tag": "\\u0000"}',
      '"name" holds the unpaired surrogate U+DC00 at index 2, which cannot be stored; "tag" holds U+0000 at index 0, which cannot be stored: remove it.',
    ],
  ];
  test.each(unstorableText)("40003 for %s", (body, message) => expectRejection(body, 40003, message));

  test("a chunked body in chunks of one byte is accepted", async () => {
    const body = plantJson(freshId(), "x".repeat(20_000));
    const chunks = [...body].map((character) => `1\r\n${character}\r\n`).join("");
    const answer = await sendRaw(
      target().url,
      `POST ${new URL(target().url).pathname.replace(/\/$/, "")}/plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${target().token}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    expect(answer).toStartWith("HTTP/1.1 200");
  });

  test("40400 for an unknown path", async () => {
    const authorization = { Authorization: `Bearer ${target().token}` };
    for (const path of ["/plant", "/plants/", "/plants/1/leaves", "/PLANTS", "/openapi.yml", "/plants%2f"]) {
      const answer = await send(target().url + path, { method: "POST", headers: authorization });
      expect(answer.status).toBe(404);
      expect(answer.json).toMatchObject({ error: 40400, message: expect.stringContaining("/plants") });
    }
  });

  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])(
    "40500 for %s, which says how to create",
    async (method) => {
      const raw = await sendRaw(
        target().url,
        `${method} ${new URL(target().url).pathname.replace(/\/$/, "")}/plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${target().token}\r\n\r\n`,
      );
      expect(raw).toStartWith("HTTP/1.1 405");
      expect(raw).toMatch(/\r\nAllow: POST\r\n/i);
      expect(raw).toContain('"error":40500');
      expect(raw).toContain("/plants. Send POST");
    },
  );

  test("every error response is an Error with both fields, and has the header fields of every error", async () => {
    for (const body of ["", "{}", '{"id": 1, "name": "\\u0000"}']) {
      const { headers, json } = await post(target(), body, { Origin: "https://docs.example" });
      expect(json).toEqual({ error: expect.any(Number), message: expect.any(String) });
      expect(headers.get("content-type")).toBe("application/json");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  const shouldNotCrash = [
    "{".repeat(100_000),
    '{"id": 1, "x": '.concat("[".repeat(400_000), "1.5", "]".repeat(400_000), ', "name": 1}'),
  ];
  test.each(shouldNotCrash)("unlimited nesting is rejected (%#)", async (body) => {
    expect((await post(target(), body)).status).toBe(400);
  });
});
