// Rules of a sandbox on operations of single resources: members of their bodies, and ids as UUIDs.

import { expect, test } from "bun:test";
import { contractFile, sandboxOf } from "../../support/contract-sandbox.ts";

test("rules match members of the bodies of PUT and PATCH, and an id in capitals", async () => {
  await using store = await sandboxOf(contractFile("members.yaml"));
  const { json } = await store.request("POST", "/members", '{"name":"Ada"}');
  const { id } = json as { id: string };
  const patch = { Authorization: `Bearer ${store.token}`, "Content-Type": "application/merge-patch+json" };
  const rule = async (match: object) => {
    const rules = [{ match, outcome: { error: 50300 } }];
    expect((await store.sandbox.control("PUT", "/rules", { rules })).status).toBe(200);
  };
  const put = async (name: string) =>
    (await store.request("PUT", `/members/${id}`, JSON.stringify({ name }))).status;
  const change = async (name: string) =>
    (await store.request("PATCH", `/members/${id}`, JSON.stringify({ name }), patch)).status;
  await rule({ name: "Eve" });
  expect([await put("Eve"), await put("Bob"), await change("Eve"), await change("Joe")]).toEqual([
    503, 200, 503, 200,
  ]);
  await rule({ id: id.toUpperCase() });
  expect([await put("Eve"), (await store.request("GET", `/members/${id}`)).status]).toEqual([503, 503]);
});
