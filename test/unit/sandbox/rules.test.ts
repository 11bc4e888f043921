// Rules: validation, matching, and the random sequence that repeats.

import { describe, expect, test } from "bun:test";
import type { Rule, RuleList } from "../../../packages/sandbox/src/control-types.ts";
import { parseExactJson } from "../../../src/json/exact-json.ts";
import { controlDocument } from "../../../src/sandbox/control-document.ts";
import { describedJson } from "../../../src/sandbox/described-json.ts";
import { drawDelayMs, Rules } from "../../../src/sandbox/rules.ts";
import { SeededRandom } from "../../../src/sandbox/seeded-random.ts";
import { plantStore } from "../../support/contracts.ts";
import { settled } from "../../support/settled.ts";

const overloaded = { error: 50300 } as const;

const parseDescribed = describedJson(controlDocument);
const parse = <Described>(body: object, schema: string) =>
  parseDescribed<Described>(body, `#/components/schemas/${schema}`);

const request = (
  headers: Record<string, string> = {},
  plant?: { readonly id: bigint; readonly name: string; readonly tag?: string },
  method = "POST",
) => ({ method, headers: new Headers(headers), members: plant, id: plant?.id });

/** The rule that a request gets; undefined for none. */
function appliedId(rules: Rules): string | undefined {
  const forced = rules.match(request());
  return (forced?.by as { readonly rule: string } | undefined)?.rule;
}

function rulesOf(...sources: readonly Rule[]): Rules {
  const rules = new Rules(plantStore);
  rules.replace({ rules: sources });
  return rules;
}

describe("validation", () => {
  test.each([
    [[], "it must be an object"],
    [{}, 'it must be an object with the member "outcome"'],
    [{ outcome: overloaded, when: 1 }, 'it must be an object without the member "when"'],
    [{ outcome: overloaded, times: 0 }, '"times" must be an integer, at least 1 and at most 1000000000'],
    [
      { outcome: overloaded, match: { method: "post" } },
      "/match/method must be a string that matches ^[A-Z-]{1,32}$",
    ],
    [{ outcome: overloaded, match: { headers: { a: 1 } } }, "/match/headers/a must be a string or an object"],
    [{ outcome: overloaded, match: { body: { a: {} } } }, "/match/body/a must be an object of 1 member"],
    [
      { outcome: overloaded, match: { headers: { a: { pattern: "[" } } } },
      "/match/headers/a/pattern must be a regular expression of ECMA 262",
    ],
    [{ outcome: {} }, '"outcome" must be an object of at least 1 member'],
    [{ outcome: { error: 500 } }, /^The body is not valid: \/outcome\/error must be one of 40000, 40001, /],
    [{ outcome: { delay: { seconds: [1] } } }, "/outcome/delay/seconds must be an array of 2 items"],
    [
      { outcome: { error: 50300, example: "conflict" } },
      '"outcome" must be an object without the member "example"',
    ],
    [
      { outcome: { delay: { seconds: 1 }, reset: true } },
      '"outcome" must be an object with the member "drop"',
    ],
    [
      { outcome: { drop: "afterCommit", error: 50300 } },
      '"outcome" must be an object without the member "error"',
    ],
  ])("invalid rule %#", async (rule, message) => {
    expect(await settled(parse(rule, "Rule"))).toThrow(
      typeof message === "string" ? new Error(`The body is not valid: ${message}.`) : message,
    );
  });

  test.each<[Rule, string]>([
    [{ outcome: overloaded, match: { id: 2n ** 63n } }, "No resource can have the id 9223372036854775808."],
    [
      { outcome: overloaded, match: { tga: "x" } as object },
      'There is no condition "tga" in the contract, only collection, method, operation, path, headers, body, id, share, name, tag.',
    ],
    [{ outcome: overloaded, match: { name: 5 } as object }, '"name" is never 5.'],
    [
      { outcome: overloaded, match: { collection: "pots" } },
      'There is no collection "pots" in the contract, only plants.',
    ],
    [
      { outcome: overloaded, match: { operation: "grow" } },
      'There is no operation "grow" in the contract, only createPlant.',
    ],
    [
      { outcome: { example: "withTags" } },
      'There is no example "withTags" in the contract, only withTag, withoutTag, invalidPlant, badRequest, invalidJson, unstorableText, conflict, missing, notAccepted, notFound, methodNotAllowed, requestTimeout, tooLarge, unsupportedMediaType, tooManyRequests, internalError, overloaded.',
    ],
  ])("a rule that fits nothing in the contract %#", (rule, message) => {
    expect(() => rulesOf(rule)).toThrow(new Error(message));
  });

  test("the place of a rule in a list is named", async () => {
    const rules = [{ outcome: overloaded }, { outcome: { error: 1 } }];
    expect(await settled(parse({ rules }, "RuleList"))).toThrow("/rules/1/outcome/error must be");
  });

  test("there are at most 100 rules", () => {
    const rules = new Rules(plantStore);
    for (let count = 0; count < 100; count++) rules.add({ outcome: overloaded });
    expect(() => rules.add({ outcome: overloaded })).toThrow("There may be 100 rules; remove one first.");
  });

  test("rules that were read back can be set again", async () => {
    const rules = rulesOf(
      { match: { id: 9007199254740993n, headers: { "X-Test": "a" } }, times: 2, outcome: overloaded },
      { outcome: { delay: { seconds: [1, 2], when: "after" }, bytesPerSecond: 20 } },
    );
    rules.match(request({ "x-test": "a" }, { id: 9007199254740993n, name: "" }));
    const read = rules.describe();
    rules.replace(await parse<RuleList>({ rules: read }, "RuleList"));
    expect(rules.describe()).toEqual(
      read.map((rule, index) => ({ ...rule, id: `r${index + 3}`, applied: 0 })),
    );
  });
});

describe("matching", () => {
  test("every condition must hold", () => {
    const match = { method: "POST", headers: { "X-Test": "a" }, id: 2n ** 60n + 1n, name: "", tag: "x" };
    const rules = rulesOf({ match, outcome: overloaded });
    const plant = { id: 2n ** 60n + 1n, name: "", tag: "x" };
    expect(rules.match(request({ "x-test": "a" }, plant))).toMatchObject({
      by: { rule: "r1" },
      outcome: { error: 50300 },
    });
    expect(rules.match(request({ "x-test": "A" }, plant))).toBeUndefined();
    expect(rules.match(request({}, plant))).toBeUndefined();
    expect(rules.match(request({ "x-test": "a" }, plant, "GET"))).toBeUndefined();
    expect(rules.match(request({ "x-test": "a" }, { ...plant, id: 2n ** 60n }))).toBeUndefined();
    expect(rules.match(request({ "x-test": "a" }, { id: plant.id, name: "" }))).toBeUndefined();
    expect(rules.match(request({ "x-test": "a" }, { ...plant, name: "y" }))).toBeUndefined();
    expect(rules.match(request({ "x-test": "a" }))).toBeUndefined();
    expect(rules.describe()).toMatchObject([{ applied: 1 }]);
  });

  test("the first rule applies, as often as it says, and then the next one", () => {
    const rules = rulesOf({ times: 2, outcome: overloaded }, { outcome: { error: 42900 } });
    const ids = Array.from({ length: 4 }, () => appliedId(rules));
    expect(ids).toEqual(["r1", "r1", "r2", "r2"]);
    expect(rules.delete("r2")).toBe(true);
    expect(rules.delete("r2")).toBe(false);
    expect(rules.match(request())).toBeUndefined();
  });

  test("a rule that is added comes before the others", () => {
    const rules = rulesOf({ outcome: overloaded });
    rules.add({ times: 1, outcome: overloaded });
    expect([appliedId(rules), appliedId(rules)]).toEqual(["r2", "r1"]);
  });

  test("fields and members of the body match exactly, by a pattern, or if they are absent", () => {
    const body = { id: 2n ** 60n, name: { pattern: "^Mon" }, tag: { absent: true }, extra: null } as const;
    const headers = { "X-Test": { pattern: "b$" }, "X-Other": { absent: true } } as const;
    const rules = rulesOf({ match: { headers, body }, outcome: overloaded });
    const members = { id: 2n ** 60n, name: "Monstera", extra: null };
    const matches = (fields: Record<string, string>, object: object | undefined) =>
      rules.match({ ...request(fields), members: object as Record<string, unknown> | undefined }) !==
      undefined;
    expect(matches({ "x-test": "ab" }, members)).toBe(true);
    expect(matches({ "x-test": "ba" }, members)).toBe(false);
    expect(matches({}, members)).toBe(false);
    expect(matches({ "x-test": "ab", "x-other": "" }, members)).toBe(false);
    for (const other of [{ id: 2n ** 60n + 1n }, { name: "Ficus" }, { name: 1 }, { tag: null }, { extra: 0 }])
      expect(matches({ "x-test": "ab" }, { ...members, ...other })).toBe(false);
    expect(matches({ "x-test": "ab" }, undefined)).toBe(false);
  });

  test.each([
    ["9007199254740993", "9007199254740993.0", true],
    ["9007199254740992", "9007199254740993.0", false],
    ["9007199254740993", "9007199254740992", false],
    ["100", "1e2", true],
    ["0.1234567890123456789", "0.12345678901234567890", true],
    ["0.1234567890123456789", "0.1234567890123456788", false],
    ["1e400", "10e399", true],
  ])("a number of a rule is compared exactly: %s, %s", (wanted, sent, isHit) => {
    const match = parseExactJson(`{"body":{"weight":${wanted}}}`) as NonNullable<Rule["match"]>;
    const rules = rulesOf({ match, outcome: overloaded });
    const members = parseExactJson(`{"weight":${sent}}`) as Record<string, unknown>;
    expect(rules.match({ ...request(), members }) !== undefined).toBe(isHit);
  });

  test("a rule is applied after as many matches as it says", () => {
    const rules = rulesOf({ match: { method: "POST" }, after: 2, times: 1, outcome: overloaded });
    rules.match(request({}, undefined, "GET"));
    const ids = Array.from({ length: 4 }, () => appliedId(rules));
    expect(ids).toEqual([undefined, undefined, "r1", undefined]);
    expect(rules.describe()).toMatchObject([{ after: 2, applied: 1 }]);
  });
});

describe("the random sequence", () => {
  const drawn = (seed: number | undefined) => {
    const rules = new Rules(plantStore);
    const list = [{ match: { share: 0.3 }, outcome: overloaded }];
    rules.replace({ ...(seed === undefined ? {} : { seed }), rules: list });
    return Array.from({ length: 10_000 }, () => rules.match(request()) !== undefined);
  };

  test("the same seed gives the same run, another seed another run", () => {
    expect(drawn(42)).toEqual(drawn(42));
    expect(drawn(42)).not.toEqual(drawn(43));
    expect(drawn(undefined)).toEqual(drawn(1));
  });

  test("a share is that share of the requests", () => {
    const applied = drawn(7).filter(Boolean).length;
    expect(Math.abs(applied - 3_000)).toBeLessThan(250);
  });

  test("nothing is drawn for a rule whose other conditions do not hold", () => {
    const rules = rulesOf({ match: { method: "GET", share: 0.5 }, outcome: overloaded });
    for (let count = 0; count < 10; count++) rules.match(request());
    expect(rules.random.next()).toBe(new SeededRandom(1).next());
  });

  // Its first outputs for seed 0, computed with integers in another language.
  test("the generator is SplitMix32", () => {
    const random = new SeededRandom(0);
    const outputs = Array.from({ length: 3 }, () => random.next() * 2 ** 32);
    expect(outputs).toEqual([1684164658, 3653269916, 2939563536]);
  });

  test("a delay is a number, or is drawn between two", () => {
    const random = new SeededRandom(5);
    expect(drawDelayMs({ seconds: 2.5 }, random)).toBe(2_500);
    const drawnMs = Array.from({ length: 1_000 }, () => drawDelayMs({ seconds: [0.1, 0.5] }, random));
    expect(Math.min(...drawnMs)).toBeWithin(100, 105);
    expect(Math.max(...drawnMs)).toBeWithin(495, 500);
  });
});
