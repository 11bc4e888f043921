// The OpenAPI document of control against what it describes.

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/console/session/sessions.ts";
import { controlDocument } from "../../../src/sandbox/control-document.ts";
import { errorCodes } from "../../../src/sandbox/response-examples.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
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
  expect(Object.keys(control.routes).toSorted()).toEqual(describedOperations.toSorted());
  await sandbox.store[Symbol.asyncDispose]();
});

test("it names the errors", () => {
  const { ErrorCode } = controlDocument.components.schemas;
  expect(ErrorCode).toMatchObject({ enum: [...errorCodes.keys()].toSorted((a, b) => a - b) });
});
