// src/core/contract/new-plant-validator.js is generated code in the source tree: it is what the
// generator makes today.

import { expect, test } from "bun:test";
import { generateValidator, validatorFile } from "../../../../scripts/new-plant-validator.ts";

test("the check of a NewPlant is the one of openapi.yaml; if not: npm run update:validator", async () => {
  expect(await Bun.file(validatorFile).text()).toBe(await generateValidator());
});
