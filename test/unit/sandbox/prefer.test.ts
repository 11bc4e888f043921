// The request header Prefer: its syntax, and the outcomes that it asks for.

import { expect, test } from "bun:test";
import { parsePrefer, parsePreferredOutcome } from "../../../src/sandbox/prefer.ts";
import { errorCodes, examplesOf } from "../../../src/sandbox/response-examples.ts";
import { plantStore } from "../../support/contracts.ts";
import { expectProcessorMs } from "../../support/processes.ts";

const examples = examplesOf(plantStore, "")();
const preferred = (field: string) => parsePreferredOutcome(field, examples, plantStore.errors.shape);

test.each([
  ["", {}],
  ["code=429", { code: "429" }],
  ["Code = 429", { code: "429" }],
  ["code=429, delay=2.5", { code: "429", delay: "2.5" }],
  ['example="withTag"; a=b; c', { example: "withTag" }],
  ["respond-async, wait=100; x", { "respond-async": "", wait: "100" }],
  ["code=429, code=503", { code: "429" }],
  ["code=, delay", { code: "", delay: "" }],
  ["code=429;foo;bar=1 , delay=1", { code: "429", delay: "1" }],
  ["wait=5;code=429", { wait: "5" }],
  ['code=503;foo="a,delay=5"', { code: "503" }],
  ['code=503;foo="a\\",delay=5", delay=1', { code: "503", delay: "1" }],
])("%p is read as its preferences", (field, preferences) => {
  expect(Object.fromEntries(parsePrefer(field))).toEqual(preferences);
});

test("a field of 16 KiB is parsed in linear time", () => {
  const fields = [
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
  ];
  // An expression for the whole preference took four seconds for one of them.
  expectProcessorMs(500, () => fields.map(preferred));
  expect(fields.map(preferred)).toEqual(fields.map(() => undefined));
});

function parse(field: string) {
  const parsed = preferred(field);
  if (parsed?.applied === undefined) throw new Error(JSON.stringify(parsed));
  return parsed;
}

test("a status means the error of its first example, five digits mean that error, other statuses themselves", () => {
  const errorOf = (field: string) => parse(field).outcome.error;
  for (const error of errorCodes.keys()) expect(Number(errorOf(`code=${error}`))).toBe(error);
  expect(errorOf("code=400")).toBe(40002);
  expect(errorOf("code=401")).toBe(40100);
  expect(errorOf("code=503")).toBe(50300);
  for (const status of [418, 431, 502, 504, 505])
    expect(parse(`code=${status}`).outcome).toEqual({ response: { status } });
});

test.each(["return=minimal", "dynamic=true", "wait=10"])("%p asks for no outcome", (field) => {
  expect(preferred(field)).toBeUndefined();
});

test.each([
  "code=200",
  "code=600",
  "code=40010",
  "code=4e2",
  "code",
  "delay=-1",
  "delay=soon",
  "delay=3601",
  "example=nonsense",
  "code=40001, example=conflict",
  "code=429, example=withTag, delay=1",
])("%p cannot be met, which is an error", (field) => {
  const parsed = preferred(field);
  const body = { error: 40010, message: expect.stringMatching(/^Prefer: .*\.$/) };
  expect(parsed).toEqual({
    outcome: { response: { status: 400, body }, headers: { "Content-Type": "application/json" } },
    by: { prefer: expect.any(String) },
  });
});

test("an example is that of openapi.yaml, and of its code", () => {
  expect(parse("example=withTag").outcome).toEqual({ example: "withTag" });
  expect(examples.byName.get("withTag")).toMatchObject({
    name: "withTag",
    status: 200,
    error: undefined,
    value: { name: "Monstera deliciosa", tag: "tropical" },
  });
  for (const field of [
    "code=200, example=withTag",
    "code=400, example=conflict",
    "code=40009, example=conflict, delay=1",
  ])
    expect(parse(field).applied).toBe(field);
});
