// The OpenAPI document of control against what it describes.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/sessions.ts";
import document from "../../../src/sandbox/openapi-control.yaml";
import { errorCodes, examples } from "../../../src/sandbox/outcome.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { describedOperations } from "../../support/sandbox.ts";

test("the document describes every route, and nothing else", async () => {
  const options = {
    token: "sandbox",
    seed: undefined,
    rules: undefined,
    adminNames: [],
    cors: "off" as const,
    trustedProxies: [],
  };
  const sandbox = await Sandbox.open(options, () => undefined);
  const control = sandbox.control({
    sessions: new Sessions({
      passwordHash: undefined,
      now: () => 0,
      randomBytes: (count) => new Uint8Array(count),
    }),
    reloadTokens: async () => undefined,
  });
  expect(Object.keys(control.routes).toSorted()).toEqual(describedOperations.toSorted());
  await sandbox.store[Symbol.asyncDispose]();
});

test("it names the errors and the examples that openapi.yaml has", () => {
  const { ErrorCode, Outcome } = document.components.schemas;
  expect(ErrorCode.enum).toEqual([...errorCodes.keys()].toSorted((a, b) => a - b));
  expect(Outcome.properties.example.enum).toEqual([...examples.keys()]);
});
