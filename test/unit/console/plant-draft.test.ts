// The texts of a form, and the body that they become.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { toTexts } from "../../../src/console/calls/shown-plant.ts";
import { bodyOf, draftOf, labelOf } from "../../../src/console/page/plant-draft.ts";
import { useContract } from "../../../src/console/page/shown-contract.ts";
import { type PageContract, pageContract } from "../../../src/console/page-contract.ts";
import { parsePlantJson } from "../../../src/contract/plant.ts";
import { contractWith } from "../../support/console.ts";
import type { SingleContract } from "../../support/contracts.ts";
import { anyPlantOf } from "../../support/random.ts";

/** Gives the page a contract, as it receives it in JSON. */
function show(collection: SingleContract): void {
  useContract(JSON.parse(JSON.stringify(pageContract(collection))) as PageContract);
}

test("any plant that is shown and saved without a change is the same plant", async () => {
  const collection = await contractWith(
    {
      text: { type: "string" },
      nullable: { type: ["string", "null"], examples: ["a", null, "null", '"', '"a"', "", "a\r\nb"] },
      choice: { type: "string", enum: ["", "a", '"b"'] },
      maybeChoice: { type: ["string", "null"], enum: ["a", "b c", null], examples: ["a", "b c", null] },
      integer: { type: "integer" },
      maybeInteger: { type: ["integer", "null"], examples: [-3, null] },
      decimal: { type: "number" },
      boolean: { type: "boolean" },
      maybeBoolean: { type: ["boolean", "null"], examples: [true, false, null] },
      list: { type: "array", items: {}, examples: [[], ["a", { b: null }], [1.5]] },
      ["__proto__"]: { type: "string" },
      "a \"b\" 'c'": { type: "object", examples: [{ "": {} }] },
    },
    ["text", "choice"],
  );
  show(collection);
  fc.assert(
    fc.property(anyPlantOf(collection), (plant) => {
      const texts = toTexts(collection, plant.values);
      expect(parsePlantJson(collection, bodyOf(String(plant.id), draftOf(texts), texts))).toEqual(plant);
    }),
  );
});

test("what is typed becomes JSON of the type, and what is not of it is left to the server", async () => {
  const collection = await contractWith({
    count: { type: "integer" },
    maybe: { type: ["boolean", "null"] },
    note: { type: ["string", "null"] },
    any: {},
  });
  show(collection);
  const body = (...draft: string[]) => bodyOf("7", draft);
  expect(body("", "", "", "")).toBe('{"id":7}');
  expect(body(" 007 ", "TRUE", "null", "null")).toBe(
    '{"id":7,"count":7,"maybe":true,"note":null,"any":null}',
  );
  expect(body("-0", "null", '"null"', " [1.0] ")).toBe(
    '{"id":7,"count":-0,"maybe":null,"note":"null","any":[1.0]}',
  );
  expect(body("x", "yes", '"a" "b"', "")).toBe('{"id":7,"count":"x","maybe":"yes","note":"\\"a\\" \\"b\\""}');
  expect(() => body("", "", "", "tea")).toThrow("Any must be JSON: ");
});

test("labels tell fields apart, and are short", async () => {
  const long = "x".repeat(300);
  show(
    await contractWith(
      Object.fromEntries(
        ["height_cm", "sender", "Sender", " ", "__proto__", long].map((name) => [name, { type: "integer" }]),
      ),
    ),
  );
  expect(["height_cm", "sender", "Sender", " ", "__proto__"].map(labelOf)).toEqual([
    "Height cm",
    "sender",
    "Sender",
    '" "',
    "Proto",
  ]);
  expect(["eventDescription", "EventId", "parcelURL"].map(labelOf)).toEqual([
    "Event description",
    "Event id",
    "Parcel URL",
  ]);
  expect(labelOf(long)).toBe(`X${"x".repeat(59)}…`);
});
