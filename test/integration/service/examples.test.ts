// Examples of tests to begin with: of a field, of an operation, and of a store that fails.

import { expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { plantStore } from "../../support/contracts.ts";
import { accepts, parsed, readThings } from "../../support/descriptions.ts";
import { failing } from "../../support/failing.ts";
import { sendTo } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { ownOperation } from "../../support/own-operation.ts";

test("a field with an enum has one of its values", async () => {
  const things = await readThings({ properties: { colour: { type: "string", enum: ["red", "blue"] } } });
  expect(accepts(things, '{"id":1,"colour":"red"}')).toBeTrue();
  expect(parsed(things, '{"id":1,"colour":"green"}')).toContain('"colour" must be');
});

test("an operation responds with what its handler returns", async () => {
  const sum = ownOperation("sum", () => ({ sum: 2n ** 60n }), { method: "GET" });
  await using server = await startInProcess({ operations: [sum] });
  const { status, text } = await sendTo(await server.target(), "GET", "/sum");
  expect([status, text]).toEqual([200, '{"sum":1152921504606846976}']);
});

test("a deletion that the store cannot make is 503", async () => {
  await using server = await startInProcess({ operations: collectionOperations(plantStore, ["delete"]) });
  const target = await server.target();
  using _ = failing(server.store, "edit", new OperatorError("the disk is gone"));
  expect(await sendTo(target, "DELETE", "/plants/1")).toMatchObject({ status: 503, json: { error: 50300 } });
});
