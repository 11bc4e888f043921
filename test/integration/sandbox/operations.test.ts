// The list and the deletion of plants in a sandbox: forced outcomes, the log and a reset.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { plantJson, post, send } from "../../support/http.ts";
import { loggedRequests, RunningSandbox } from "../../support/sandbox.ts";

let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = await RunningSandbox.startInProcess({ args: ["--operations", "create,list,delete"] });
});
afterAll(() => sandbox[Symbol.asyncDispose]());
beforeEach(() => sandbox.control("POST", "/reset"));

const request = (method: string, path: string, headers: Record<string, string> = {}) =>
  send(sandbox.url + path, { method, headers: { Authorization: `Bearer ${sandbox.token}`, ...headers } });

const storedIds = async () => (await sandbox.resources()).map(({ id }) => id);

test("Prefer forces an error of each operation, and the log has it", async () => {
  await sandbox.control("DELETE", "/requests");
  for (const [method, path] of [
    ["GET", "/plants?limit=5"],
    ["DELETE", "/plants/1"],
    ["PATCH", "/plants/1"],
  ] as const)
    expect(await request(method, path, { Prefer: "code=503" })).toMatchObject({
      status: 503,
      json: { error: 50300 },
    });
  const notOffered = await request("DELETE", "/plants/1", { Prefer: "code=405" });
  expect(notOffered.headers.get("allow")).toBe("DELETE");
  expect((await request("GET", "/plants", { Prefer: "code=40004" })).json).toEqual({
    error: 40004,
    message: "A parameter of the path or the query, or a header field, is not valid.",
  });
  // Only requests to paths of operations are changed.
  expect((await request("GET", "/nowhere", { Prefer: "code=503" })).status).toBe(404);
  expect((await request("GET", "/openapi.json", { Prefer: "code=503" })).status).toBe(200);
  const requests = await loggedRequests(sandbox, 7);
  expect(requests.map((each) => [each.request.method, each.error])).toEqual([
    ["GET", 50300],
    ["DELETE", 50300],
    ["PATCH", 50300],
    ["DELETE", 40500],
    ["GET", 40004],
    ["GET", 40400],
    ["GET", null],
  ]);
});

test("a rule matches the id in the path of a deletion, which may be done before its error", async () => {
  for (const id of [1n, 2n]) await post(sandbox, plantJson(id, "Monstera"));
  const outcome = { error: 50300, commit: true };
  await sandbox.control("POST", "/rules", { match: { method: "DELETE", id: 2 }, outcome });
  expect((await request("DELETE", "/plants/1")).status).toBe(204);
  expect((await request("DELETE", "/plants/2")).status).toBe(503);
  expect(await storedIds()).toEqual([]);
});
