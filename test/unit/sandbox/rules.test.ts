// Rules: validation, matching, and the random sequence that repeats.

import { describe, expect, test } from "bun:test";
import type { Rule } from "../../../packages/sandbox/src/index.ts";
import { parseDescribed } from "../../../src/sandbox/described-json.ts";
import { drawDelayMs } from "../../../src/sandbox/outcome.ts";
import { type RuleList, Rules } from "../../../src/sandbox/rules.ts";
import { SeededRandom } from "../../../src/sandbox/seeded-random.ts";
import { settled } from "../../support/settled.ts";

const overloaded = { error: 50300 } as const;

const request = (
  headers: Record<string, string> = {},
  plant?: { readonly id: bigint; readonly name: string; readonly tag?: string },
  method = "POST",
) => ({ method, headers: new Headers(headers), plant, members: plant, id: plant?.id });

function rulesOf(...sources: readonly Rule[]): Rules {
  const rules = new Rules();
  rules.replace({ rules: sources });
  return rules;
}

describe("validation", () => {
  const errors =
    "40000, 40001, 40002, 40003, 40004, 40009, 40100, 40101, 40400, 40500, 40800, 41300, 41500, 42900, 50000, 50300";
  test.each([
    [[], "The body must be an object, but is []."],
    [{}, "outcome is missing; the fields there are match, after, times, outcome."],
    [{ outcome: 1 }, "outcome must be an object, but is 1."],
    [{ outcome: overloaded, when: 1 }, "when is unknown; the fields there are match, after, times, outcome."],
    [{ outcome: overloaded, times: 0 }, "times must be an integer from 1 to 1000000000, but is 0."],
    [{ outcome: overloaded, times: 1.5 }, "times must be an integer from 1 to 1000000000, but is 1.5."],
    [
      { outcome: overloaded, match: { method: "post" } },
      'match.method must be a string that matches ^[A-Z-]{1,32}$, such as "POST", but is "post".',
    ],
    [
      { outcome: overloaded, match: { headers: { a: 1 } } },
      "match.headers.a must be of the type string, object, but is 1.",
    ],
    [{ outcome: overloaded, match: { body: { a: {} } } }, "match.body.a must have one of pattern, absent."],
    [
      { outcome: overloaded, match: { headers: { a: { pattern: "(" } } } },
      'match.headers.a.pattern must be a string (regex), such as "^Bearer ", but is "(".',
    ],
    [{ outcome: overloaded, match: { headers: { "a b": "" } } }, 'match.headers cannot have the name "a b".'],
    [{ outcome: overloaded, match: { id: "1" } }, 'match.id must be an integer (int64), but is "1".'],
    [
      { outcome: overloaded, match: { id: 2n ** 63n } },
      'match.id must be an integer (int64), but is "9223372036854775808".',
    ],
    [{ outcome: overloaded, match: { tag: null } }, "match.tag must be a string, but is null."],
    [{ outcome: overloaded, match: { share: 1.1 } }, "match.share must be a number from 0 to 1, but is 1.1."],
    [
      { outcome: {} },
      "outcome must have at least one of error, response, headers, commit, example, delay, drop, reset, body, bytesPerSecond.",
    ],
    [{ outcome: { error: 500 } }, `outcome.error must be one of ${errors}, but is 500.`],
    [{ outcome: { error: 50300, commit: "yes" } }, 'outcome.commit must be true or false, but is "yes".'],
    [
      { outcome: { example: "plant" } },
      /^outcome\.example must be one of "withTag", "withoutTag", "invalidPlant", .*, but is "plant"\.$/,
    ],
    [
      { outcome: { body: "short" } },
      'outcome.body must be one of "truncated", "wrongLength", "brokenChunk", "garbage", but is "short".',
    ],
    [{ outcome: { delay: {} } }, "outcome.delay must have one of seconds, uniform, normal, exponential."],
    [
      { outcome: { delay: { seconds: 1, uniform: [0, 1] } } },
      "outcome.delay must have one of seconds, uniform, normal, exponential.",
    ],
    [
      { outcome: { delay: { uniform: [1] } } },
      "outcome.delay.uniform must be an array of length 2, such as [0.1,0.5], but is [1].",
    ],
    [
      { outcome: { delay: { normal: { mean: 1 } } } },
      "outcome.delay.normal.deviation is missing; the fields there are mean, deviation.",
    ],
    [
      { outcome: { error: 50300, example: "conflict" } },
      "outcome.example and error exclude each other. Remove one.",
    ],
    [{ outcome: { delay: { seconds: 1 }, reset: true } }, "outcome.reset needs drop."],
    [
      { outcome: { drop: "afterCommit", error: 50300 } },
      "outcome.error and drop exclude each other. Remove one.",
    ],
  ])("invalid rule %#", async (rule, message) => {
    expect(await settled(parseDescribed(rule, "Rule"))).toThrow(
      typeof message === "string" ? new Error(message) : message,
    );
  });

  test("the place of a rule in a list is named", async () => {
    const rejected = (list: object) => settled(parseDescribed(list, "RuleList"));
    const rules = [{ outcome: overloaded }, { outcome: { error: 1 } }];
    expect(await rejected({ rules })).toThrow(/^rules\[1\]\.outcome\.error must be one of/);
    expect(await rejected({ rules: {} })).toThrow("rules must be an array of at most 100 items, but is {}.");
    expect(await rejected({ rules: [], seed: -1 })).toThrow(
      "seed must be an integer from 0 to 4294967295, but is -1.",
    );
    expect(await rejected({ rules: [], times: 1 })).toThrow(
      "times is unknown; the fields there are seed, rules.",
    );
    expect(await rejected({ rules: Array(101).fill({ outcome: overloaded }) })).toThrow(
      "rules must be an array of at most 100 items, but is [{",
    );
  });

  test("there are at most 100 rules", () => {
    const rules = new Rules();
    for (let count = 0; count < 100; count++) rules.add({ outcome: overloaded });
    expect(() => rules.add({ outcome: overloaded })).toThrow("There may be 100 rules; remove one first.");
  });

  test("rules that were read back can be set again", async () => {
    const rules = rulesOf(
      { match: { id: 9007199254740993n, headers: { "X-Test": "a" } }, times: 2, outcome: overloaded },
      { outcome: { delay: { normal: { mean: 1, deviation: 0.5 }, when: "after" }, bytesPerSecond: 20 } },
    );
    rules.match(request({ "x-test": "a" }, { id: 9007199254740993n, name: "" }));
    const read = rules.describe();
    rules.replace(await parseDescribed<RuleList>({ rules: read }, "RuleList"));
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
      id: "r1",
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
    const ids = Array.from({ length: 4 }, () => rules.match(request())?.id);
    expect(ids).toEqual(["r1", "r1", "r2", "r2"]);
    expect(rules.delete("r2")).toBe(true);
    expect(rules.delete("r2")).toBe(false);
    expect(rules.match(request())).toBeUndefined();
  });

  test("a rule that is added comes before the others", () => {
    const rules = rulesOf({ outcome: overloaded });
    rules.add({ times: 1, outcome: overloaded });
    expect([rules.match(request())?.id, rules.match(request())?.id]).toEqual(["r2", "r1"]);
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

  test("a rule is applied after as many matches as it says", () => {
    const rules = rulesOf({ match: { method: "POST" }, after: 2, times: 1, outcome: overloaded });
    rules.match(request({}, undefined, "GET"));
    const ids = Array.from({ length: 4 }, () => rules.match(request())?.id);
    expect(ids).toEqual([undefined, undefined, "r1", undefined]);
    expect(rules.describe()).toMatchObject([{ after: 2, applied: 1 }]);
  });

  test("the body is needed only for a rule that may match by it", () => {
    const rules = rulesOf({ match: { headers: { a: "b" }, tag: "x" }, times: 1, outcome: overloaded });
    expect(rules.dependOnBody(request({ a: "b" }))).toBe(true);
    expect(rules.dependOnBody(request({ a: "c" }))).toBe(false);
    rules.match(request({ a: "b" }, { id: 1n, name: "", tag: "x" }));
    expect(rules.dependOnBody(request({ a: "b" }))).toBe(false);
  });
});

describe("the random sequence", () => {
  const drawn = (seed: number | undefined) => {
    const rules = new Rules();
    const list = [{ match: { share: 0.3 }, outcome: overloaded }];
    rules.replace({ ...(seed === undefined ? {} : { seed }), rules: list });
    return Array.from({ length: 10_000 }, () => rules.match(request()) !== undefined);
  };

  test("the same seed gives the same run, another seed another run", () => {
    expect(drawn(42)).toEqual(drawn(42));
    expect(drawn(42)).not.toEqual(drawn(43));
    expect(drawn(undefined)).toEqual(drawn(1));
  });

  test("a share is that share of the requests; 0 is none, and 1 is all", () => {
    const applied = drawn(7).filter(Boolean).length;
    expect(Math.abs(applied - 3_000)).toBeLessThan(250);
    const none = rulesOf({ match: { share: 0 }, outcome: overloaded });
    const all = rulesOf({ match: { share: 1 }, outcome: overloaded });
    for (let count = 0; count < 1_000; count++) {
      expect(none.match(request())).toBeUndefined();
      expect(all.match(request())).toBeDefined();
    }
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

  const draws = (distribution: Parameters<typeof drawDelayMs>[0]) => {
    const random = new SeededRandom(5);
    return Array.from({ length: 20_000 }, () => drawDelayMs(distribution, random));
  };
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

  test("distributions have their mean and their bounds", () => {
    expect(draws({ seconds: 2.5 })[0]).toBe(2_500);
    const uniform = draws({ uniform: [0.1, 0.5] });
    expect(Math.min(...uniform)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...uniform)).toBeLessThanOrEqual(500);
    expect(Math.abs(mean(uniform) - 300)).toBeLessThan(5);
    const normal = draws({ normal: { mean: 0.2, deviation: 0.05 } });
    expect(Math.abs(mean(normal) - 200)).toBeLessThan(3);
    expect(Math.abs(Math.sqrt(mean(normal.map((ms) => (ms - 200) ** 2))) - 50)).toBeLessThan(2);
    const exponential = draws({ exponential: { mean: 0.2 } });
    expect(Math.abs(mean(exponential) - 200)).toBeLessThan(6);
    expect(Math.min(...draws({ normal: { mean: 0, deviation: 1 } }))).toBe(0);
    expect(Math.max(...draws({ exponential: { mean: 3_600 } }))).toBe(3_600_000);
  });
});
