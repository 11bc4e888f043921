// Checks repeated creates: the same plant again is 200, another one with its id is 40009, and the
// first one stays.

import { type Contents, newId } from "../requests/contents.ts";
import {
  expectClientError,
  expectError,
  expectPlant,
  expectThat,
  type PlantFields,
  plantOf,
} from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import { RuleSkipped } from "../wire/rule-ends.ts";
import {
  byContract,
  byDecision,
  type ConformanceRule,
  decision,
  placesIn,
  rfc,
  rulesOf,
  unfitReasons,
} from "./rule.ts";

const sameAgain = decision("The same id with the same content again");
const conflicting = decision("The same id with different content");
const race = decision("Several requests race for one id");

/** Enough races to hit a gap of 20 µs between a check and an insert. */
const raceRequests = 50;
const raceRounds = 10;

/** Stores a plant, sends another with its id, which must conflict, and then the first again. */
async function expectConflict(
  check: RuleContext,
  stored: PlantFields,
  other: PlantFields | ((id: bigint) => string),
): Promise<void> {
  const id = check.id();
  await check.expectPlant(id, stored.name, stored.tag);
  const body = typeof other === "function" ? other(id) : check.contents.plantJson(id, other.name, other.tag);
  const conflict = await check.create(body);
  expectThat(conflict.status >= 300, `a stored plant is replaced by another with its id: ${conflict.status}`);
  expectError(check.contents, conflict, "conflict");
  await check.expectPlant(id, stored.name, stored.tag, "the stored plant has changed");
}

/** Texts that a server may take for the same. */
const similarTexts: Readonly<Record<string, (long: string) => readonly [string, string]>> = {
  case: () => ["Monstera", "monstera"],
  "a space at the end": () => ["Monstera", "Monstera "],
  "an accent": () => ["Fougère", "Fougere"],
  "the normal form": () => ["caf\u00e9", "cafe\u0301"],
  "a zero-width character": () => ["Monstera", "Monstera\u200b"],
  "characters beyond U+FFFF": () => ["🌱", "🌵"],
  "the end of a long text": (long) => [`${long}a`, `${long}b`],
};

export function idempotenceRules(contents: Contents): readonly ConformanceRule[] {
  const { collection, group, otherFields } = contents;
  const others = otherFields.flatMap((field) => {
    const json = contents.anotherValue(field);
    return json === undefined ? [] : [{ field, json }];
  });
  const similarTo = (long: string) =>
    Object.fromEntries(
      Object.entries(similarTexts)
        .map(([label, pair]) => [label, pair(long)] as const)
        .filter(([, pair]) => pair.every((text) => contents.takesTitle(text))),
    );
  const { body, responses } = placesIn(contents);
  return rulesOf(contents, "idempotence", {
    "same-again": {
      title: "The same plant again gets 200 and the same Plant.",
      required: byDecision(sameAgain),
      run: async (check) => {
        const id = check.id();
        await check.expectPlant(id, "Monstera", "tropical");
        for (let time = 0; time < 3; time++)
          await check.expectPlant(id, "Monstera", "tropical", "the same plant again is rejected");
      },
    },
    "same-in-another-form": {
      title: "The same plant with reordered, escaped or unknown members is recognized.",
      required: byDecision(sameAgain, decision("Unknown fields"), rfc(8259, "4")),
      run: async (check) => {
        const id = check.id();
        await check.expectPlant(id, "Monstera", "tropical");
        const [title, tag] = [contents.titled("Monstera"), contents.grouped('"tropical"')];
        const colour = collection.allowsOthers && collection.fields.every(({ name }) => name !== "colour");
        for (const body of [
          contents.wrapped(` {${[...tag, title, contents.idMember(id)].join(", ")}}`),
          contents.body(contents.idMember(id), title.replace(/"Monstera"$/, '"\\u004donstera"'), tag),
          ...(colour ? [contents.body(contents.idMember(id), title, tag, '"colour":"green"')] : []),
        ])
          await check.case(body.replace(String(id), "…"), () =>
            check.expectCreated(body, { name: "Monstera", tag: "tropical" }),
          );
      },
    },
    "different-content": {
      title: `Another content with a stored id gets ${contents.errorOf("conflict")}, and the stored plant stays.`,
      required: byDecision(conflicting, responses),
      run: async (check) => {
        const stored = { name: "Monstera", tag: "tropical" };
        const emptyTag = contents.takesGroup("") ? { name: "Monstera", tag: "" } : undefined;
        const different: Readonly<Record<string, PlantFields>> = {
          "another name": { name: "Ficus", tag: "tropical" },
          ...(group !== undefined && {
            "another tag": { name: "Monstera", tag: "indoor" },
            "without the tag": { name: "Monstera" },
            ...(emptyTag && { "an empty tag": emptyTag }),
            ...(contents.takesTitle("tropical") && {
              "the name and the tag exchanged": { name: "tropical", tag: "Monstera" },
            }),
          }),
        };
        for (const [label, other] of Object.entries(different))
          await check.case(contents.inItsWords(label), () => expectConflict(check, stored, other));
        if (emptyTag !== undefined)
          await check.case(contents.inItsWords("a tag where there was none"), () =>
            expectConflict(check, { name: "Monstera" }, emptyTag),
          );
        for (const { field, json } of others)
          await check.case(`another ${field.name}`, () =>
            expectConflict(check, { name: "Monstera" }, (id) => contents.bodyWith(id, field, json)),
          );
      },
    },
    "similar-content": {
      unfit: Object.keys(similarTo("x")).length === 0 && unfitReasons.limitedTexts,
      title: "Texts that differ only in case, white space, normal form or their end are different content.",
      required: byDecision(conflicting, rfc(8259, "8.3"), decision("`name`, `tag`")),
      run: async (check) => {
        const long = "x".repeat(check.longLength);
        await check.cases(similarTo(long), ([one, other]) =>
          expectConflict(check, { name: one }, { name: other }),
        );
      },
    },
    "race-of-different": {
      unfit: contents.created === undefined && unfitReasons.noBody,
      title: "Of concurrent creates with one id one content is accepted, where a taken id is rejected.",
      required: byContract(body, race),
      run: async (check) => {
        await check.skipUnlessConflicts();
        for (let round = 0; round < raceRounds; round++) {
          const id = check.id();
          const names = Array.from({ length: raceRequests }, (_, index) => `competing ${index % 10}`);
          const responses = await check.together(names.map((name) => contents.plantJson(id, name)));
          const stored = new Set<unknown>();
          for (const [index, response] of responses.entries()) {
            if (response.status >= 300) {
              expectClientError(response);
              continue;
            }
            // A server may return the plant that is stored.
            const returned = plantOf(contents, response);
            const own = names[index] ?? "";
            const name = contents.hasTitle(returned, own)
              ? own
              : (names.find((each) => contents.hasTitle(returned, each)) ?? own);
            expectPlant(contents, response, { name });
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
              check.contents,
              response,
              { name: "Monstera", tag: "tropical" },
              "the same plant is rejected in a race",
            );
        }
      },
    },
    "concurrent-stored": {
      title: "Concurrent creates that are accepted are stored: their ids are taken afterwards.",
      required: byContract(body, decision("When 200 is sent")),
      run: async (check) => {
        await check.skipUnlessConflicts();
        const ids = Array.from({ length: raceRequests }, () => check.id());
        const responses = await check.together(ids.map((id) => contents.plantJson(id, "Monstera")));
        for (const response of responses) expectPlant(check.contents, response, { name: "Monstera" });
        for (const id of ids) {
          const response = await check.create(contents.plantJson(id, "Ficus"));
          // A server may return the plant that is stored.
          const isFree = response.status < 300 && contents.hasTitle(plantOf(contents, response), "Ficus");
          expectThat(!isFree, "an acknowledged plant is lost: its id is free");
        }
      },
    },
    "rejected-not-stored": {
      title: "A rejected plant is not stored: its id, and those around it, are free afterwards.",
      required: byContract(responses),
      run: async (check) => {
        await check.skipUnlessConflicts();
        const optional = group ?? collection.fields.find(({ isRequired }) => !isRequired);
        const required = collection.fields.find(({ isRequired }) => isRequired);
        const [wrong] = optional === undefined ? [] : contents.wrongValues(optional);
        const rejected: Readonly<Record<string, string>> = {
          ...(optional !== undefined &&
            wrong !== undefined && {
              [`a ${optional.name} of another type`]: contents.bodyWith(newId, optional, wrong, "rejected"),
            }),
          "a text after the body": `${contents.plantJson(newId, "rejected")}}`,
          ...(required !== undefined && {
            [`a missing ${required.name}`]: contents.bodyWithout(newId, required),
          }),
          "an id with a fraction": contents.plantJson(`${newId}.5`, "rejected"),
        };
        await check.cases(rejected, async (body) => {
          const [id, next] = [check.id(), check.id()];
          const { status } = await check.create(body.replace(newId, String(contents.idOfNumber(id))));
          if (status < 400) throw new RuleSkipped("the body was not rejected");
          const because = `the plant is stored, although its create got ${status}`;
          for (const free of [id, next]) await check.expectPlant(free, "Monstera", undefined, because);
        });
      },
    },
  });
}
