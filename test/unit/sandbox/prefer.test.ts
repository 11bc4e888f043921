// The request header Prefer: its syntax, and the outcomes that it asks for.

import { expect, test } from "bun:test";
import { errorRegistry } from "../../../src/core/contract/errors.ts";
import { examples } from "../../../src/sandbox/outcome.ts";
import { parsePrefer, parsePreferredOutcome } from "../../../src/sandbox/prefer.ts";

test.each([
  ["", {}],
  ["code=429", { code: "429" }],
  ["Code = 429", { code: "429" }],
  ["code=429, delay=2.5", { code: "429", delay: "2.5" }],
  ["code=429,,delay=2.5,", { code: "429", delay: "2.5" }],
  ['example="with,\\"Tag;"; a=b; c', { example: 'with,"Tag;' }],
  ["respond-async, wait=100; x", { "respond-async": "", wait: "100" }],
  ["code=429, code=503", { code: "429" }],
  ["code=, delay", { code: "", delay: "" }],
  ['return=""', { return: "" }],
  ["code=429;foo;bar=1 , delay=1", { code: "429", delay: "1" }],
  ['"code"=429, delay=1', { delay: "1" }],
  ["a b=c, delay=1", { delay: "1" }],
  ['code="429, delay=1', {}],
  ["=1, @, delay=1", { delay: "1" }],
  ['code=429 ; a= ;; b="x;y,z" ;c = d ;, delay=1', { code: "429", delay: "1" }],
  ["code=429 ;a=@, delay=1", { delay: "1" }],
])("%p", (field, preferences) => {
  expect(Object.fromEntries(parsePrefer(field))).toEqual(preferences);
});

test("a field of 16 KiB is parsed in linear time", () => {
  const startedAt = performance.now();
  for (const field of [
    " ".repeat(16_000),
    "a;".repeat(8_000),
    '"\\'.repeat(8_000),
    "a=;".repeat(5_000),
    ",".repeat(16_000),
    `p${";a= ".repeat(4_000)}`,
    `p${";a= ".repeat(4_000)}@`,
    `p${"; ".repeat(8_000)}@`,
    `p${';a="" '.repeat(2_000)}@,`.repeat(2),
    `p= ${" ".repeat(16_000)}@`,
  ])
    expect(parsePreferredOutcome(field)).toBeUndefined();
  // An expression for the whole preference took four seconds for one of them.
  expect(performance.now() - startedAt).toBeLessThan(500);
});

const followed = (field: string) => parsePreferredOutcome(field)?.preferences;

test("a status means the first error of the registry with it, five digits mean that error", () => {
  const errorOf = (field: string) => parsePreferredOutcome(field)?.outcome.error;
  for (const [code, { error }] of Object.entries(errorRegistry))
    expect(errorOf(`code=${error}`)).toBe(code as never);
  expect(errorOf("code=400")).toBe("badRequest");
  expect(errorOf("code=401")).toBe("missingToken");
  expect(errorOf("code=503")).toBe("unavailable");
});

test.each([
  "code=200",
  "code=418",
  "code=40010",
  "code=4e2",
  "code=-400",
  "code",
  "delay=-1",
  "delay=1e3",
  "delay=soon",
  "delay=3601",
  "delay=.5",
  "example=nonsense",
  "return=minimal",
  "dynamic=true",
])("%p asks for nothing that can be met", (field) => {
  expect(parsePreferredOutcome(field)).toBeUndefined();
});

test("an example is that of openapi.yaml; with a code that it does not belong to it is ignored", () => {
  expect(parsePreferredOutcome("example=withTag")?.outcome).toEqual({
    example: {
      name: "withTag",
      status: 200,
      error: undefined,
      value: { name: "Monstera deliciosa", tag: "tropical" },
    },
  });
  expect(followed("code=200, example=withTag")).toBe("code=200, example=withTag");
  expect(followed("code=400, example=conflict")).toBe("code=400, example=conflict");
  expect(followed("code=40009, example=conflict")).toBe("code=40009, example=conflict");
  expect(followed("code=40001, example=conflict")).toBe("code=40001");
  expect(followed("code=429, example=withTag, delay=1")).toBe("code=429, delay=1");
});

test("every error of the registry has an example, and every example of an error its status", () => {
  const errors = [...examples.values()].filter(({ error }) => error !== undefined);
  expect(new Set(errors.map(({ error }) => error))).toEqual(new Set(Object.keys(errorRegistry) as never[]));
  for (const { status, error, value } of errors) {
    expect(value).toEqual({ error: errorRegistry[error as "conflict"].error, message: expect.any(String) });
    expect(Math.trunc(errorRegistry[error as "conflict"].error / 100)).toBe(status);
  }
});
