// Creating plants: the bodies that are accepted, and the responses to them.

import { expect, test } from "bun:test";
import { freshId, plantJson, post } from "../../support/http.ts";
import { describeConformance } from "./targets.ts";

describeConformance("creating a plant", (target) => {
  test("returns exactly the Plant, without an id", async () => {
    const withTag = await post(target(), plantJson(freshId(), "Monstera deliciosa", "tropical"));
    expect(withTag.status).toBe(200);
    expect(withTag.text).toBe('{"name":"Monstera deliciosa","tag":"tropical"}');

    const withoutTag = await post(target(), plantJson(freshId(), "Ficus lyrata"));
    expect(withoutTag.status).toBe(200);
    expect(withoutTag.text).toBe('{"name":"Ficus lyrata"}');
  });

  test("the response has the header fields of every response", async () => {
    const { headers } = await post(target(), plantJson(freshId(), "Monstera"));
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("an equal plant is 200 again, a different one with the same id 40009, and the stored plant is unchanged", async () => {
    const id = freshId();
    const first = plantJson(id, "Monstera", "tropical");
    expect((await post(target(), first)).text).toBe('{"name":"Monstera","tag":"tropical"}');
    for (const different of [
      plantJson(id, "Ficus", "tropical"),
      plantJson(id, "Monstera"),
      plantJson(id, "Monstera", ""),
    ]) {
      const answer = await post(target(), different);
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({
        error: 40009,
        message: `The id ${id} already holds a different plant, which is unchanged; choose another id.`,
      });
    }
    const replay = await post(target(), first);
    expect(replay.status).toBe(200);
    expect(replay.text).toBe('{"name":"Monstera","tag":"tropical"}');
  });

  // A random part distinguishes these from the plants of an earlier run in a store that the test does not own.
  const salt = freshId() & 0xffff_ffffn;
  const integers: readonly [text: string, sameAs: string][] = [
    ["-9223372036854775808", "-9223372036854775808"],
    ["9223372036854775807", "9223372036854775807.0"],
    [`900${salt + 10n ** 12n}993`, `900${salt + 10n ** 12n}9930e-1`],
    [`${salt}.0`, `${salt}`],
    [`${salt}e3`, `${salt}000`],
    [`-${salt}.50E1`, `-${salt}5`],
    ["0", "-0.0e99999999"],
  ];
  test.each(integers)("the id %s is an integer, the same as %s", async (text, sameAs) => {
    const name = `integer ${text}`;
    const plant = (id: string) => `{"id": ${id}, "name": "${name}"}`;
    expect((await post(target(), plant(text))).status).toBe(200);
    expect((await post(target(), plant(sameAs))).status).toBe(200);
    expect((await post(target(), `{"id": ${sameAs}, "name": "another"}`)).json).toMatchObject({
      error: 40009,
    });
  });

  test("ids that are equal as JavaScript numbers are different plants", async () => {
    const base = 2n ** 60n + (freshId() & 0xffff_ffff_0000n);
    for (const id of [base, base + 1n, base + 2n]) {
      expect((await post(target(), plantJson(id, `plant ${id}`))).status).toBe(200);
    }
  });

  const notInt64 = [
    "1.5",
    "1e-1",
    "1.0000000000000000001",
    "0.99999999999999999999999",
    "9223372036854775808",
    "-9223372036854775809",
    "1e19",
    "1e400",
    "1e-400",
    "9".repeat(400),
  ];
  test.each(notInt64)("the id %s is not an int64", async (text) => {
    const answer = await post(target(), `{"id": ${text}, "name": "Monstera"}`);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      error: 40002,
      message: expect.stringContaining('"id" must be an integer (int64)'),
    });
  });

  test("any string may be a name or a tag: empty, long, of every Unicode plane, with quotes and control characters", async () => {
    const strings = [
      "",
      " ",
      "é",
      "植物",
      "🌱\u{10FFFF}",
      '"\\/\b\f\n\r\t\u0001\u007f',
      "\u2028\u2029\ufeff",
      "x".repeat(300_000),
    ];
    for (const text of strings) {
      const answer = await post(target(), plantJson(freshId(), text, text));
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({ name: text, tag: text });
    }
  });

  test("unknown fields are ignored, neither stored nor echoed", async () => {
    const id = freshId();
    const answer = await post(
      target(),
      `{"id": ${id}, "name": "Monstera", "colour": {"id": 1.5, "name": 7}, "__proto__": {"tag": "x"}}`,
    );
    expect(answer.text).toBe('{"name":"Monstera"}');
    expect((await post(target(), plantJson(id, "Monstera"))).status).toBe(200);
  });

  test("of duplicate members the last one counts", async () => {
    const id = freshId();
    const body = `{"id": 1.5, "name": "first", "id": ${id}, "name": "last", "\\u0069d": ${id}}`;
    expect((await post(target(), body)).text).toBe('{"name":"last"}');
    expect((await post(target(), plantJson(id, "last"))).status).toBe(200);
    expect((await post(target(), `{"id": ${id}, "name": "Monstera", "id": 1.5}`)).json).toMatchObject({
      error: 40002,
    });
  });

  test("a byte order mark and white space around the body are ignored", async () => {
    const answer = await post(target(), `\ufeff \r\n\t${plantJson(freshId(), "Monstera")}\n`);
    expect(answer.status).toBe(200);
  });

  test("of concurrent creates of one id with different contents exactly one succeeds", async () => {
    for (let round = 0; round < 5; round++) {
      const id = freshId();
      const names = Array.from({ length: 60 }, (_, index) => `competing ${index % 20}`);
      const answers = await Promise.all(names.map((name) => post(target(), plantJson(id, name))));
      const winners = new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text));
      expect(winners.size).toBe(1);
      for (const [index, answer] of answers.entries()) {
        const isWinner = winners.has(JSON.stringify({ name: names[index] }));
        expect(answer.json).toMatchObject(isWinner ? { name: names[index] } : { error: 40009 });
      }
    }
  });
});
