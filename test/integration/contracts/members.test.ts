// A collection whose ids are UUIDs, with replacements and merge patches, on every engine.

import { describe, expect, test } from "bun:test";
import { clientEditor } from "../../../src/plants/edit-one.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { onlyCollection } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { send, sendTo } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";

const source = { text: await Bun.file(contractFile("members.yaml")).text() };
const uuid = (version: number) =>
  new RegExp(`^[\\da-f]{8}-[\\da-f]{4}-${version}[\\da-f]{3}-[89ab][\\da-f]{3}-[\\da-f]{12}$`);

for (const engine of engines)
  describe(`${engine.name}: members`, () => {
    const context = contractServer(engine, "members.yaml", { tokenName: "secretary" });
    const { request, command } = context;
    const add = async (body: object, headers: Record<string, string> = {}) => {
      const { status, json, headers: received } = await request("POST", "/members", body, headers);
      expect(status).toBe(201);
      const { id } = json as { id: string };
      return { id, json, etag: received.get("etag") ?? "", location: received.get("location") };
    };
    const historyOf = async (id: string) => {
      const { stdout } = await command("history", id, "--json");
      return stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    };

    test("get a UUIDv7 each, in the order of time, a Location and an ETag", async () => {
      const ids: string[] = [];
      const { id: before } = await add({ name: "Bob" });
      for (let time = 0; time < 5; time++) {
        const { id, json, etag, location } = await add({ name: `Ada ${time}` });
        expect(id).toMatch(uuid(7));
        expect(location).toBe(`/members/${id}`);
        expect(etag).toMatch(/^"[\w-]{22}"$/);
        const got = await request("GET", `/members/${id}`);
        const matching = await request("GET", `/members/${id}`, undefined, { "If-Match": etag });
        const other = await request("GET", `/members/${id}`, undefined, { "If-Match": '"other"' });
        expect([matching.status, other.status]).toEqual([200, 412]);
        expect([got.status, got.json, got.headers.get("etag")]).toEqual([200, json, etag]);
        ids.push(id);
      }
      expect(ids.toSorted()).toEqual(ids);
      const page = (await request("GET", `/members?limit=2&after=${before}`)).json as {
        items: { id: string }[];
      };
      expect(page).toMatchObject({ hasMore: true, items: [{ id: ids[0] }, { id: ids[1] }] });
      const next = (await request("GET", `/members?limit=3&after=${ids[1]}`)).json;
      expect(next).toMatchObject({ items: ids.slice(2).map((id) => ({ id })) });
    });

    test("have the UUIDv8 of their Idempotency-Key", async () => {
      const first = await add({ name: "Grace" }, { "Idempotency-Key": "k1" });
      expect(first.id).toMatch(uuid(8));
      expect(await add({ name: "Grace" }, { "Idempotency-Key": "k1" })).toEqual(first);
      const other = await request("POST", "/members", { name: "Alan" }, { "Idempotency-Key": "k1" });
      expect(other.status).toBe(400);
      expect(other.text).toContain(`has created the member \\"${first.id}\\"`);
    });

    test("are created and replaced by PUT, under an id in either case", async () => {
      const id = crypto.randomUUID();
      const created = await request("PUT", `/members/${id.toUpperCase()}`, { name: "Ada", level: 1 });
      expect([created.status, created.json]).toEqual([
        201,
        { id, name: "Ada", level: 1, created_at: expect.any(String) },
      ]);
      const { created_at } = created.json as { created_at: string };
      const replaced = await request("PUT", `/members/${id}`, { name: "Ada L." });
      expect([replaced.status, replaced.json]).toEqual([200, { id, name: "Ada L.", created_at }]);
      expect(replaced.headers.get("etag")).not.toBe(created.headers.get("etag"));
      // A replacement by an equal member is not an edit.
      expect((await request("PUT", `/members/${id}`, { name: "Ada L." })).json).toEqual(replaced.json);
      const history = await historyOf(id);
      expect(history).toMatchObject([
        { editor: { by: "client", token: "secretary" }, before: { level: 1 }, after: { name: "Ada L." } },
        { editor: { by: "client", token: "secretary" }, before: null, after: { id, name: "Ada" } },
      ]);
      // The creator is stored, too.
      expect((await command("get", id, "--with-creation")).stdout).toContain('"token":"secretary"');
      await command("history", "--undo", history[0].run);
      expect((await request("GET", `/members/${id}`)).json).toEqual(created.json);
      await command("history", "--undo", history[1].run);
      expect((await request("GET", `/members/${id}`)).status).toBe(404);
    });

    test("are changed by a merge patch, of which numbers keep their digits", async () => {
      const { id } = await add({
        name: "Ada",
        email: "ada@example.com",
        level: 2,
        address: { city: "London", street: "St James's Square", flat: 12 },
      });
      const patch = (body: string) =>
        request("PATCH", `/members/${id}`, body, { "Content-Type": "application/merge-patch+json" });
      const changed = await patch(
        '{"email":null,"level":9007199254740993,"address":{"street":null,"flat":1.10000000000000000001},"id":"x","other":1}',
      );
      expect(changed.status).toBe(200);
      expect(changed.text).toStartWith(
        `{"id":"${id}","name":"Ada","level":9007199254740993,"address":{"city":"London","flat":1.10000000000000000001}`,
      );
      for (const [body, status, message] of [
        ['{"name":null}', 400, '"name\\" must be a string'],
        ['{"name":""}', 400, "name"],
        ['{"level":-1}', 400, "level"],
        ["[]", 400, "it must be an object"],
        [`{"address":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`, 400, "nested too deeply"],
        ['{"name":}', 400, "is not JSON: line 1, column 9"],
      ] as const) {
        const refused = await patch(body);
        expect([body, refused.status, refused.text]).toEqual([
          body,
          status,
          expect.stringContaining(message),
        ]);
      }
      expect((await request("GET", `/members/${id}`)).text).toBe(changed.text);
    });

    test("take conditions: what was changed meanwhile is not overwritten", async () => {
      const { id, etag } = await add({ name: "Ada" });
      const at = `/members/${id}`;
      expect((await request("GET", at, undefined, { "If-None-Match": `W/${etag}` })).status).toBe(304);
      const changed = await request("PATCH", at, { level: 1 }, { "If-Match": `"x", ${etag}` });
      expect(changed.status).toBe(200);
      for (const [method, headers] of [
        ["PATCH", { "If-Match": etag }],
        ["PUT", { "If-Match": etag }],
        ["PUT", { "If-None-Match": "*" }],
        ["DELETE", { "If-Match": etag }],
        ["DELETE", { "If-None-Match": "*" }],
        ["DELETE", { "If-Match": `W/${changed.headers.get("etag")}` }],
      ] as const) {
        const refused = await request(method, at, method === "DELETE" ? undefined : { name: "B" }, headers);
        expect([method, refused.status]).toEqual([method, 412]);
        expect(refused.json).toMatchObject({ status: 412, type: "urn:plantstore:error:41200" });
      }
      expect((await request("GET", at)).headers.get("etag")).toBe(changed.headers.get("etag"));
      const free = `/members/${crypto.randomUUID()}`;
      expect((await request("PUT", free, { name: "C" }, { "If-Match": "*" })).status).toBe(412);
      expect((await request("PUT", free, { name: "C" }, { "If-None-Match": "*" })).status).toBe(201);
      expect(
        (await request("PATCH", `/members/${crypto.randomUUID()}`, {}, { "If-Match": "*" })).status,
      ).toBe(404);
      const last = changed.headers.get("etag") ?? "";
      expect((await request("DELETE", at, undefined, { "If-Match": last })).status).toBe(204);
      expect((await request("GET", at)).status).toBe(404);
    });

    test("are read as the last acknowledged change left them, on any server", async () => {
      const args = ["--contract", contractFile("members.yaml")];
      await using other = await RunningServer.startInProcess({ database: context.server.database, args });
      const read = async (id: string) =>
        Promise.all(
          [context.server, other].map(async ({ url }) => {
            const { status, json } = await sendTo({ url, token: context.token }, "GET", `/members/${id}`);
            return status === 200 ? (json as { level: number }).level : status;
          }),
        );
      const followed = Array.from({ length: 16 }, async () => {
        const { id } = await add({ name: "Ada", level: 0 });
        expect(await read(id)).toEqual([0, 0]);
        for (let level = 1; level <= 5; level++) {
          expect((await request("PATCH", `/members/${id}`, { level })).status).toBe(200);
          expect(await read(id)).toEqual([level, level]);
        }
        expect((await request("DELETE", `/members/${id}`)).status).toBe(204);
        expect(await read(id)).toEqual([404, 404]);
      });
      await Promise.all(followed);
    });

    test("are counted up by many clients at once, as often as a change succeeded", async () => {
      const ids = await Promise.all(
        Array.from({ length: 10 }, async () => (await add({ name: "Ada", level: 0 })).id),
      );
      const counts = Array.from({ length: 64 }, async (_, index) => {
        let successes = 0;
        for (let time = 0; time < 5; time++) {
          const at = `/members/${ids[(index + time) % ids.length]}`;
          const got = await request("GET", at);
          const level = (got.json as { level: number }).level + 1;
          const condition = { "If-Match": got.headers.get("etag") ?? "" };
          const { status } = await request("PATCH", at, { level }, condition);
          expect([200, 412]).toContain(status);
          if (status === 200) successes++;
        }
        return successes;
      });
      const successes = (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
      const levels = await Promise.all(
        ids.map(async (id) => ((await request("GET", `/members/${id}`)).json as { level: number }).level),
      );
      expect(levels.reduce((sum, one) => sum + one, 0)).toBe(successes);
      expect(successes).toBeGreaterThanOrEqual(10);
    });

    test("that are no UUIDs are refused", async () => {
      for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
        const body = method === "PUT" || method === "PATCH" ? { name: "Ada" } : undefined;
        const { status, text } = await request(method, "/members/1", body);
        expect([method, status, text]).toEqual([method, 400, expect.stringContaining("must be a UUID")]);
      }
    });
  });

test("bodies of changes that wait for their turn count as memory, and one caller leaves some to others", async () => {
  using folder = new TemporaryFolder();
  const store = await openedStore(`sqlite:${folder.file("members.db")}`, undefined, source);
  const limits = { bodyBytesMax: 400_000, inFlightBytesMax: 2_000_000 };
  const operations = collectionOperations(onlyCollection(store.contract));
  await using server = await startInProcess({ store, operations, limits });
  const [greedy, other] = [await server.createToken("greedy"), await server.createToken("other")];
  const put = (token: string, address: object) =>
    send(`${server.url}/members/${crypto.randomUUID()}`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name: "Ada", address }),
    });
  const large = Array.from({ length: 40 }, () => put(greedy, { street: "x".repeat(300_000) }));
  const small = await put(other, { city: "London" });
  expect(small.status).toBe(201);
  const statuses = (await Promise.all(large)).map(({ status }) => status);
  expect([...new Set(statuses)].toSorted()).toEqual([201, 503]);
});

test("the history tells a subject of an identity provider from the token of that name", () => {
  const caller = { key: "", name: "ci", creator: 1 };
  expect(clientEditor(caller)).toEqual({ by: "client", token: "ci" });
  expect(clientEditor({ ...caller, issuer: "https://idp.example" })).toEqual({
    by: "client",
    token: "ci (https://idp.example)",
  });
});
