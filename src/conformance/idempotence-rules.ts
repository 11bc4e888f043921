// Rules of repeated creates: the same plant again is 200, another one with its id is 40009, and the
// first one stays.

import { errorRegistry } from "../core/contract/errors.ts";
import type { RuleContext } from "./context.ts";
import { expectError, expectPlant, expectThat, type PlantFields } from "./expectations.ts";
import { groupFields, named, plantJson, tagged } from "./ids.ts";
import { byDecision, decision, openapi, type Rule, rfc, rulesOf } from "./rule.ts";
import { RuleSkipped } from "./rule-ends.ts";

const sameAgain = decision("The same id with the same content again");
const conflicting = decision("The same id with different content");
const race = decision("Several requests race for one id");
const response400 = openapi("paths./plants.post.responses.400");
const conflictCode = errorRegistry.conflict.error;

/** Enough races to hit a gap of 20 µs between a check and an insert. */
const raceRequests = 50;
const raceRounds = 10;

/** Stores a plant, sends another with its id, which must conflict, and then the first again. */
async function expectConflict(check: RuleContext, stored: PlantFields, other: PlantFields): Promise<void> {
  const id = check.id();
  await check.expectPlant(id, stored.name, stored.tag);
  expectError(await check.create(plantJson(id, other.name, other.tag)), 400, conflictCode);
  await check.expectPlant(id, stored.name, stored.tag);
}

export const idempotenceRules: readonly Rule[] = rulesOf("idempotence", {
  "same-again": {
    title: "The same plant again gets 200 and the same Plant.",
    required: byDecision(sameAgain),
    run: async (check) => {
      const id = check.id();
      for (let time = 0; time < 4; time++) await check.expectPlant(id, "Monstera", "tropical");
    },
  },
  "same-in-another-form": {
    title: "The same plant with reordered, escaped or unknown members is recognized.",
    required: byDecision(sameAgain, decision("Unknown fields"), rfc(8259, "4")),
    run: async (check) => {
      const id = check.id();
      await check.expectPlant(id, "Monstera", "tropical");
      for (const body of [
        ` {${tagged}"tropical", ${named}"Monstera", "id":${id}}`,
        `{"id":${id},${named}"\\u004donstera",${tagged}"tropical"}`,
        `{"id":${id},${named}"Monstera",${tagged}"tropical","colour":"green"}`,
      ])
        await check.case(body.replace(String(id), "…"), () =>
          check.expectCreated(body, { name: "Monstera", tag: "tropical" }),
        );
    },
  },
  "different-content": {
    title: "Another name or tag with a stored id gets 40009, and the stored plant stays.",
    required: byDecision(conflicting, response400),
    run: async (check) => {
      const stored = { name: "Monstera", tag: "tropical" };
      const others: Readonly<Record<string, PlantFields>> = {
        "another name": { name: "Ficus", tag: "tropical" },
        ...(groupFields.length > 0 && {
          "another tag": { name: "Monstera", tag: "indoor" },
          "without the tag": { name: "Monstera" },
          "an empty tag": { name: "Monstera", tag: "" },
          "the name and the tag exchanged": { name: "tropical", tag: "Monstera" },
        }),
      };
      await check.cases(others, (other) => expectConflict(check, stored, other));
      if (groupFields.length === 0) return;
      await check.case("a tag where there was none", () =>
        expectConflict(check, { name: "Monstera" }, { name: "Monstera", tag: "" }),
      );
    },
  },
  "similar-content": {
    title: "Texts that differ only in case, white space or normal form are different content.",
    required: byDecision(conflicting, rfc(8259, "8.3"), decision("`name`, `tag`")),
    run: async (check) => {
      const pairs: Readonly<Record<string, readonly [string, string]>> = {
        case: ["Monstera", "monstera"],
        "a space at the end": ["Monstera", "Monstera "],
        "an accent": ["Fougère", "Fougere"],
        "the normal form": ["caf\u00e9", "cafe\u0301"],
        "a zero-width character": ["Monstera", "Monstera\u200b"],
        "characters beyond U+FFFF": ["🌱", "🌵"],
      };
      await check.cases(pairs, ([one, other]) => expectConflict(check, { name: one }, { name: other }));
    },
  },
  "long-content": {
    title: "Contents that differ only in their last character are different.",
    required: byDecision(conflicting),
    run: async (check) => {
      const text = "x".repeat(check.longLength);
      await expectConflict(check, { name: `${text}a` }, { name: `${text}b` });
    },
  },
  "race-of-different": {
    title: "Of concurrent creates with one id exactly one content gets 200, the others 40009.",
    required: byDecision(race),
    run: async (check) => {
      for (let round = 0; round < raceRounds; round++) {
        const id = check.id();
        const names = Array.from({ length: raceRequests }, (_, index) => `competing ${index % 10}`);
        const responses = await check.together(names.map((name) => plantJson(id, name)));
        const winners = new Set(names.filter((_, index) => responses[index]?.status === 200));
        expectThat(winners.size === 1, `expected 200 for one content, received it for ${winners.size}`);
        for (const [index, response] of responses.entries()) {
          const name = names[index] ?? "";
          if (winners.has(name)) expectPlant(response, { name });
          else expectError(response, 400, conflictCode);
        }
        const [winner = ""] = winners;
        await check.expectPlant(id, winner);
      }
    },
  },
  "race-of-equal": {
    title: "Concurrent creates of the same plant all get 200.",
    required: byDecision(race, sameAgain),
    run: async (check) => {
      for (let round = 0; round < raceRounds; round++) {
        const body = check.plant("Monstera", "tropical");
        const responses = await check.together(Array.from({ length: raceRequests }, () => body));
        for (const response of responses) expectPlant(response, { name: "Monstera", tag: "tropical" });
      }
    },
  },
  "concurrent-stored": {
    title: "Concurrent creates that get 200 are stored: their ids are taken afterwards.",
    required: byDecision(decision("When 200 is sent"), conflicting),
    run: async (check) => {
      const ids = Array.from({ length: raceRequests }, () => check.id());
      const responses = await check.together(ids.map((id) => plantJson(id, "Monstera")));
      for (const response of responses) expectPlant(response, { name: "Monstera" });
      for (const id of ids) expectError(await check.create(plantJson(id, "Ficus")), 400, conflictCode);
    },
  },
  "lost-response": {
    title: "A create whose response was lost can be sent again.",
    required: byDecision(sameAgain),
    run: async (check) => {
      for (let time = 0; time < 3; time++) {
        const id = check.id();
        await check.connected(async (connection) => {
          connection.write(check.requestBytes({ body: plantJson(id, "Monstera", "tropical") }));
          await connection.flush();
        });
        await check.expectPlant(id, "Monstera", "tropical");
      }
    },
  },
  "rejected-not-stored": {
    title: "A rejected plant is not stored: its id is free afterwards.",
    required: byDecision(decision("Missing fields, wrong types, `tag: null`"), response400),
    run: async (check) => {
      await check.skipUnlessConflicts();
      const rejected = {
        ...(groupFields.length > 0 && { "a tag of another type": `${named}"rejected",${tagged}5}` }),
        "a text after the body": `${named}"rejected"}}`,
        "a missing name": `${tagged}"rejected"}`,
      };
      await check.cases(rejected, async (members) => {
        const id = check.id();
        const { status } = await check.create(`{"id":${id},${members}`);
        if (status < 400) throw new RuleSkipped("the body was not rejected");
        await check.expectPlant(id, "Monstera");
      });
    },
  },
});
