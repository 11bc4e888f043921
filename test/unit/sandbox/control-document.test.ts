// The OpenAPI document of control, and the routes of a sandbox: each is in the other.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/sessions.ts";
import document from "../../../src/sandbox/openapi-control.yaml";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { describedOperations } from "../../support/sandbox.ts";

test("the document describes every route, and nothing else", async () => {
  const options = { token: "sandbox", seed: undefined, adminNames: [], trustedProxies: [] };
  const sandbox = await Sandbox.open(options, () => undefined);
  const control = sandbox.control({
    sessions: new Sessions({
      passwordHash: undefined,
      now: () => 0,
      randomBytes: (count) => new Uint8Array(count),
    }),
    reloadTokens: async () => undefined,
    forgetPlants: () => undefined,
  });
  expect(Object.keys(control.routes).toSorted()).toEqual(describedOperations.toSorted());
  await sandbox.store[Symbol.asyncDispose]();
});

test("the schemas of bodies have only keywords that the check of bodies knows", () => {
  const known =
    "$ref type format enum minimum maximum pattern items minItems maxItems required properties additionalProperties propertyNames minProperties maxProperties readOnly";
  // They do not decide whether a value is valid.
  const annotations = "description default examples";
  const check = (schema: Readonly<Record<string, unknown>>): void => {
    for (const [keyword, value] of Object.entries(schema)) {
      expect(`${known} ${annotations}`.split(" ")).toContain(keyword);
      if (keyword === "properties") for (const each of Object.values(value as object)) check(each);
      else if (["items", "additionalProperties", "propertyNames"].includes(keyword) && value !== false)
        check(value as Record<string, unknown>);
    }
  };
  const { Seed, RuleList, Rule, Match, Outcome, NewToken, ClockChange } = document.components.schemas;
  for (const schema of [Seed, RuleList, Rule, Match, Outcome, NewToken, ClockChange]) check(schema);
});
