// The search as it is typed into the console, and the parameters of the request for it.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { filterExamples, parseQuery, withFilter } from "../../../src/console/page/query.ts";
import { groupField, useContract } from "../../../src/console/page/shown-contract.ts";
import { type PageField, pageContract } from "../../../src/console/page-contract.ts";
import { plantStore } from "../../support/contracts.ts";
import { readThings } from "../../support/descriptions.ts";

useContract(pageContract(plantStore));

const parametersOf = (query: string) => {
  const { parameters, problem } = parseQuery(query);
  expect(problem).toBe("");
  return parameters;
};

test("words and filters are combined in any order", () => {
  expect(parametersOf(" ")).toEqual([]);
  expect(parametersOf(" mons  deli tag:tropical ")).toEqual([
    ["word", "mons"],
    ["word", "deli"],
    ["is.tag", "tropical"],
  ]);
  expect(parametersOf('tag:"a \\"b\\" \\\\" "two words"')).toEqual([
    ["is.tag", 'a "b" \\'],
    ["word", "two words"],
  ]);
  expect(parametersOf("tag:none Token:ci")).toEqual([
    ["missing", "tag"],
    ["is.token", "ci"],
  ]);
  expect(parametersOf('tag:"none"')).toEqual([["is.tag", "none"]]);
  expect(parametersOf("42")).toEqual([
    ["idMin", "42"],
    ["idMax", "42"],
  ]);
  expect(parametersOf("-7--3")).toEqual([
    ["idMin", "-7"],
    ["idMax", "-3"],
  ]);
  expect(parametersOf('"300-400" "foo:bar" "42"')).toEqual([
    ["word", "300-400"],
    ["word", "foo:bar"],
    ["word", "42"],
  ]);
});

test("days are those of the operator, and the last one is included", () => {
  const days = (query: string) => parametersOf(query).map(([, time]) => new Date(time));
  expect(days("created:2026-11-01..2026-11-07")).toEqual([new Date(2026, 10, 1), new Date(2026, 10, 8)]);
  expect(days("created:2026-12-31")).toEqual([new Date(2026, 11, 31), new Date(2027, 0, 1)]);
  const [from = new Date(0), end = new Date(0)] = days("created:today");
  expect(from <= new Date() && new Date() < end).toBe(true);
});

test("what is not understood is said", () => {
  expect(parseQuery("colour:red").problem).toContain('in quotes: "colour:red"');
  expect(parseQuery("tag:").problem).toContain("tag:none");
  expect(parseQuery("created:2026-02-30").problem).toContain("created:today");
  expect(parseQuery("created:tomorrow").problem).toContain("created:today");
  expect(parseQuery("tag:a tag:b").problem).toContain("Only one");
});

test("the help has examples of all filters; a range is one only where ids are integers", () => {
  const examples = [
    "tag:tropical",
    "tag:none",
    "token:ci",
    "created:today",
    "created:2026-11-01..2026-11-07",
  ];
  expect(filterExamples()).toEqual(["300-400", ...examples]);
  const shown = pageContract(plantStore);
  const collections = shown.collections.map((each) => ({ ...each, id: { ...each.id, isText: true } }));
  useContract({ ...shown, collections });
  expect(filterExamples()).toEqual(examples);
  expect(parametersOf("300-400")).toEqual([["word", "300-400"]]);
  useContract(shown);
});

test("every tag is found again in the search that a click on it types", () => {
  const group = groupField() as PageField;
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (tag) => {
      expect(parametersOf(withFilter("mons tag:other", group, tag))).toEqual([
        ["word", "mons"],
        ["is.tag", tag],
      ]);
    }),
    { examples: [['a \\ "b"']] },
  );
});

test("a group whose name cannot be typed leaves its word to a property named group", async () => {
  const text = { type: "string" };
  useContract(pageContract(await readThings({ properties: { "kind of": text, Group: text } })));
  expect(parametersOf("group:a")).toEqual([["is.Group", "a"]]);
  expect(parametersOf(withFilter("", groupField() as PageField, "b"))).toEqual([["is.kind of", "b"]]);
  useContract(pageContract(plantStore));
});
