// The OpenAPI document of control against what it describes.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/session/sessions.ts";
import { controlDocument } from "../../../src/sandbox/control-document.ts";
import { errorCodes, examplesOf } from "../../../src/sandbox/response-examples.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { plantStore } from "../../support/contracts.ts";
import { describedOperations } from "../../support/control-description.ts";

test("the document describes every route, and nothing else", async () => {
  const options = {
    contract: undefined,
    token: "sandbox",
    seed: undefined,
    rules: undefined,
    adminNames: [],
    cors: "off" as const,
    trustedProxies: [],
  };
  const sandbox = await Sandbox.open(options, () => undefined);
  const control = sandbox.control({
    sessions: new Sessions({ passwordHash: undefined, now: () => 0 }),
    reloadTokens: async () => undefined,
    resetRates: () => undefined,
    stopImport: async () => undefined,
  });
  const routes = Object.keys(control.routes).map((each) => each.replace("{collection}", "plants"));
  expect(routes.toSorted()).toEqual(describedOperations.toSorted());
  await sandbox.store[Symbol.asyncDispose]();
});

test("it names the errors, and the examples of the contract", () => {
  const { ErrorCode, Outcome } = controlDocument(plantStore).components.schemas as {
    readonly ErrorCode: { readonly enum: readonly number[] };
    readonly Outcome: { readonly properties: { readonly example: { readonly enum: readonly string[] } } };
  };
  expect(ErrorCode.enum).toEqual([...errorCodes.keys()].toSorted((a, b) => a - b));
  expect(Outcome.properties.example.enum).toEqual([...examplesOf(plantStore, "")().byName.keys()]);
});
