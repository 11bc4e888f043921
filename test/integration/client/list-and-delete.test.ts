// Plants that the typed client lists and deletes on a real server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { PlantStoreClient, PlantStoreInvalidResponseError } from "../../../packages/client/src/index.ts";
import { type ClientTarget, rejectionOf, startClientTarget } from "../../support/client.ts";

describe("where list and delete are offered", () => {
  let target: ClientTarget;
  beforeAll(async () => {
    target = await startClientTarget("--operations", "create,list,delete");
  });
  afterAll(() => target[Symbol.asyncDispose]());

  test("pages have every plant in the order of ids, which are exact", async () => {
    const plants = target.client();
    const ids = [-9223372036854775808n, 9007199254740992n, 9007199254740993n, 9223372036854775807n];
    for (const id of ids.toReversed()) await plants.createPlant({ id, name: String(id) });
    expect(await plants.list()).toEqual({ plants: ids.map((id) => ({ name: String(id) })), next: undefined });

    const nexts: (bigint | undefined)[] = [];
    const names: string[] = [];
    let after: bigint | undefined;
    do {
      const page = await plants.list({ limit: 1, after });
      names.push(...page.plants.map(({ name }) => name));
      nexts.push(page.next);
      after = page.next;
    } while (after !== undefined);
    expect(names).toEqual(ids.map(String));
    expect(nexts).toEqual([...ids.slice(0, -1), undefined]);
    expect((await plants.list({ after: Number.MAX_SAFE_INTEGER })).plants).toHaveLength(3);
  });

  test("a plant is deleted once, and deleting it again is no error", async () => {
    const plants = target.client();
    await plants.createPlant({ id: 9007199254740995n, name: "Monstera" });
    expect(await plants.delete(9007199254740995n)).toBeUndefined();
    expect(await target.stored("9007199254740995")).toBe("");
    await plants.delete(9007199254740995n);
    await plants.createPlant({ id: 9007199254740995n, name: "Ficus" });
  });

  test("what the server rejects is its error; an inexact id is a TypeError, and nothing is sent", async () => {
    const plants = target.client();
    expect(await rejectionOf(plants.list({ limit: 0 }))).toMatchObject({ status: 400, code: 40004 });
    expect(await rejectionOf(plants.list({ after: 2 ** 53 }))).toBeInstanceOf(TypeError);
    expect(await rejectionOf(plants.delete(2 ** 53))).toBeInstanceOf(TypeError);
    expect(await rejectionOf(plants.list({ signal: AbortSignal.abort("ended") }))).toBe("ended");
    expect(await rejectionOf(plants.delete(1, { signal: AbortSignal.abort("ended") }))).toBe("ended");
  });
});

test.each(["{}", '[{"name":1}]', "[null]", ""])("a 200 with %j is no list of plants", async (body) => {
  const plants = new PlantStoreClient({
    baseUrl: "http://plants.example",
    token: "pst_x",
    fetch: async () => new Response(body),
  });
  const error = await rejectionOf(plants.list());
  expect(error).toBeInstanceOf(PlantStoreInvalidResponseError);
  expect(String(error)).toContain("that is not an array of Plants");
});
