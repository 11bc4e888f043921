// Creating plants: how this server writes the response, and larger races than the rules of
// src/conformance have.

import { expect, test } from "bun:test";
import { freshId, plantJson, post } from "../../../support/http.ts";
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

  test("the response has the header fields that its client needs, and no other", async () => {
    const { headers } = await post(target(), plantJson(freshId(), "Monstera"));
    expect(headers.get("content-type")).toBe("application/json");
    // A gateway adds its own, and CORS fields where it forwards an Origin.
    const ofGateway =
      process.env.PLANTSTORE_TEST_URL === undefined
        ? /^(?:server|connection|keep-alive)$/
        : /^(?:server|connection|keep-alive|access-control-.*|vary|via|sl-violations)$/;
    expect([...headers.keys()].filter((name) => !ofGateway.test(name)).toSorted()).toEqual([
      "content-length",
      "content-type",
      "date",
      "x-request-id",
    ]);
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
