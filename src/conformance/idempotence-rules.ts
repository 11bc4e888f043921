// Rules of repeated creates: the same plant again is 200, another one with its id is 40009, and the
// first one stays.

import { errorRegistry } from "../core/contract/errors.ts";
import { titleField } from "../core/contract/fields.ts";
import type { RuleContext } from "./context.ts";
import {
  expectClientError,
  expectError,
  expectPlant,
  expectThat,
  type PlantFields,
  parseObject,
} from "./expectations.ts";
import { groupFields, named, plantJson, tagged } from "./ids.ts";
import { byContract, byDecision, decision, openapi, type Rule, rfc, rulesOf } from "./rule.ts";
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
  const conflict = await check.create(plantJson(id, other.name, other.tag));
  expectThat(conflict.status >= 300, `a stored plant is replaced by another with its id: ${conflict.status}`);
  expectError(conflict, 400, conflictCode);
  await check.expectPlant(id, stored.name, stored.tag, "the stored plant has changed");
}

export const idempotenceRules: readonly Rule[] = rulesOf("idempotence", {
  "same-again": {
    title: "The same plant again gets 200 and the same Plant, also if the first response was lost.",
    required: byDecision(sameAgain),
    run: async (check) => {
      const again = "the same plant again is rejected";
      await check.case("after a response", async () => {
        const id = check.id();
        for (let time = 0; time < 4; time++)
          await check.expectPlant(id, "Monstera", "tropical", time === 0 ? undefined : again);
      });
      await check.case("after a lost response", async () => {
        for (let time = 0; time < 3; time++) {
          const id = check.id();
          await check.connected(
            async (connection) => {
              connection.write(check.requestBytes({ body: plantJson(id, "Monstera", "tropical") }));
              await connection.flush();
            },
            { isRaw: false },
          );
          await check.expectPlant(id, "Monstera", "tropical", again);
        }
      });
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
    title: "Texts that differ only in case, white space, normal form or their end are different content.",
    required: byDecision(conflicting, rfc(8259, "8.3"), decision("`name`, `tag`")),
    run: async (check) => {
      const long = "x".repeat(check.longLength);
      const pairs: Readonly<Record<string, readonly [string, string]>> = {
        case: ["Monstera", "monstera"],
        "a space at the end": ["Monstera", "Monstera "],
        "an accent": ["Fougère", "Fougere"],
        "the normal form": ["caf\u00e9", "cafe\u0301"],
        "a zero-width character": ["Monstera", "Monstera\u200b"],
        "characters beyond U+FFFF": ["🌱", "🌵"],
        "the end of a long text": [`${long}a`, `${long}b`],
      };
      await check.cases(pairs, ([one, other]) => expectConflict(check, { name: one }, { name: other }));
    },
  },
  "race-of-different": {
    title: "Of concurrent creates with one id one content is accepted, where a taken id is rejected.",
    required: byContract(openapi("components.schemas.NewPlant"), race),
    run: async (check) => {
      await check.skipUnlessConflicts();
      for (let round = 0; round < raceRounds; round++) {
        const id = check.id();
        const names = Array.from({ length: raceRequests }, (_, index) => `competing ${index % 10}`);
        const responses = await check.together(names.map((name) => plantJson(id, name)));
        const stored = new Set<unknown>();
        for (const [index, response] of responses.entries()) {
          if (response.status >= 300) {
            expectClientError(response);
            continue;
          }
          // A server may return the plant that is stored.
          const returned = parseObject(response)[titleField];
          const name = names.find((each) => each === returned) ?? names[index] ?? "";
          expectPlant(response, { name });
          stored.add(name);
        }
        expectThat(
          stored.size === 1,
          `${stored.size} plants with one id are acknowledged: all but one are lost`,
        );
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
        for (const response of responses)
          expectPlant(
            response,
            { name: "Monstera", tag: "tropical" },
            "the same plant is rejected in a race",
          );
      }
    },
  },
  "concurrent-stored": {
    title: "Concurrent creates that are accepted are stored: their ids are taken afterwards.",
    required: byContract(openapi("components.schemas.NewPlant"), decision("When 200 is sent")),
    run: async (check) => {
      await check.skipUnlessConflicts();
      const ids = Array.from({ length: raceRequests }, () => check.id());
      const responses = await check.together(ids.map((id) => plantJson(id, "Monstera")));
      for (const response of responses) expectPlant(response, { name: "Monstera" });
      for (const id of ids) {
        const response = await check.create(plantJson(id, "Ficus"));
        // A server may return the plant that is stored.
        const isFree = response.status < 300 && parseObject(response)[titleField] === "Ficus";
        expectThat(!isFree, "an acknowledged plant is lost: its id is free");
      }
    },
  },
  "rejected-not-stored": {
    title: "A rejected plant is not stored: its id, and those around it, are free afterwards.",
    required: byContract(openapi("paths./plants.post.responses.200"), response400),
    run: async (check) => {
      await check.skipUnlessConflicts();
      const rejected = {
        ...(groupFields.length > 0 && { "a tag of another type": `ID,${named}"rejected",${tagged}5}` }),
        "a text after the body": `ID,${named}"rejected"}}`,
        "a missing name": `ID,${tagged}"rejected"}`,
        "an id with a fraction": `ID.5,${named}"rejected"}`,
      };
      await check.cases(rejected, async (members) => {
        const [id, next] = [check.id(), check.id()];
        const { status } = await check.create(`{"id":${members.replace("ID", String(id))}`);
        if (status < 400) throw new RuleSkipped("the body was not rejected");
        const because = `the plant is stored, although its create got ${status}`;
        for (const free of [id, next]) await check.expectPlant(free, "Monstera", undefined, because);
      });
    },
  },
});
