// List and delete, on every engine: `startServer({ operations })` with those of the collection.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { listEdits } from "../../../src/plants/edits.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { failing } from "../../support/failing.ts";
import { type Answer, plantJson, post, send, sendTo, type Target } from "../../support/http.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { exchangeRaw } from "../../support/raw-connection.ts";
import { openedStore } from "../../support/stored-plants.ts";
import { differences } from "../http/described-responses.ts";

const operations = collectionOperations(plantStore, ["list", "delete"]);
const idMax = 2n ** 63n - 1n;

for (const engine of engines) {
  describe(engine.name, () => {
    const resources = new AsyncDisposableStack();
    let server: InProcessServer;
    let target: Target;
    beforeAll(async () => {
      const { database } = resources.use(await engine.createTestStore());
      server = resources.use(await startInProcess({ database, operations }));
      target = { url: server.url, token: await server.createToken("ci") };
    });
    afterAll(() => resources.disposeAsync());

    /** A response that is as its operation declares it. */
    async function request(
      method: string,
      path: string,
      headers: Record<string, string> = {},
    ): Promise<Answer> {
      const answer = await sendTo(target, method, path, headers);
      const [pathOnly = ""] = path.split("?");
      if (method !== "HEAD") expect(differences(answer, { method, path: pathOnly })).toEqual([]);
      return answer;
    }

    /** All pages of a list, by following its links. */
    async function pages(query: string, get = (path: string) => request("GET", path)): Promise<unknown[][]> {
      const found: unknown[][] = [];
      for (let path: string | undefined = `/plants${query}`; path !== undefined; ) {
        const { status, json, headers } = await get(path);
        expect(status).toBe(200);
        found.push(json as unknown[]);
        path = /^<(.+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
      }
      return found;
    }

    async function create(id: bigint, name: string, tag?: string): Promise<void> {
      expect((await post(target, plantJson(id, name, tag))).status).toBe(200);
    }

    test("a list has plants in the order of exact ids, in pages that are linked", async () => {
      expect(await request("GET", "/plants")).toMatchObject({ text: "[]" });
      for (const [id, name] of [
        [idMax, "e"],
        [-idMax - 1n, "a"],
        [2n ** 53n + 1n, "d"],
        [2n ** 53n, "c"],
      ] as const)
        await create(id, name);
      await create(0n, "b", "tree");
      const all = [{ name: "a" }, { name: "b", tag: "tree" }, { name: "c" }, { name: "d" }, { name: "e" }];
      expect(await pages("")).toEqual([all]);
      expect(await pages("?limit=2")).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
      expect(await pages("?limit=5")).toEqual([all]);
      expect(await pages(`?after=${2n ** 53n}`)).toEqual([all.slice(3)]);
      expect(await pages(`?after=${idMax}`)).toEqual([[]]);
      expect((await request("GET", "/plants?limit=1")).headers.get("link")).toBe(
        `</plants?limit=1&after=${-idMax - 1n}>; rel="next"`,
      );
      expect(await request("HEAD", "/plants?limit=1")).toMatchObject({ status: 200, text: "" });
      // HTTP/1.0, where a proxy checks a server, needs no Host.
      const head = `GET /plants?limit=1 HTTP/1.0\r\nAuthorization: Bearer ${target.token}`;
      expect(await exchangeRaw(target.url, `${head}\r\nConnection: close\r\n\r\n`)).toContain("200 OK");
    });

    test("a list or a deletion that the store fails is logged and counted", async () => {
      const { database } = resources.use(await engine.createTestStore());
      const store = await openedStore(database, () => undefined);
      await using own = await startInProcess({ store, operations });
      using _ = failing(store, "edit", new OperatorError("the disk is gone"));
      expect((await sendTo(await own.target(), "DELETE", "/plants/1")).status).toBe(503);
      expect(own.events).toContainEqual({
        kind: "operationFailed",
        operation: "deletePlant",
        reason: "the disk is gone",
      });
      expect(await own.metric("plantstore_store_failures_total")).toBe(1);
    });

    test("long plants make short pages, and none is skipped", async () => {
      const name = "🌿".repeat(100_000);
      const ids = [101n, 102n, 103n, 104n, 105n];
      for (const id of ids) await create(id, name, String(id));
      const found = await pages("?limit=1000&after=100");
      expect(found.length).toBeGreaterThan(1);
      expect(found.flat().slice(0, 5)).toEqual(ids.map((id) => ({ name, tag: String(id) })));
      for (const id of ids) expect((await request("DELETE", `/plants/${id}`)).status).toBe(204);
    });

    test.each(["9223372036854775808", "1.0", "1e3", "x", "%31x", "%"])("the id %s is 40004", async (id) => {
      expect(await request("DELETE", `/plants/${id}`)).toMatchObject({ status: 400, json: { error: 40004 } });
      expect(await request("GET", `/plants?after=${id}`)).toMatchObject({
        status: 400,
        json: { error: 40004 },
      });
    });

    test("a deletion is 204 each time, is in the history with its token, and frees the id", async () => {
      const id = -9_007_199_254_740_993n;
      await create(id, "Monstera", "tropical");
      for (let time = 0; time < 2; time++)
        expect(await request("DELETE", `/plants/${id}`)).toMatchObject({ status: 204, text: "" });
      await create(id, "Ficus");
      await using sql = await server.store.openSql();
      const { entries } = await listEdits(plantStore, sql, { id });
      expect(entries).toMatchObject([
        {
          before: plant({ id, name: "Monstera", tag: "tropical" }),
          after: undefined,
          editor: { by: "client", token: "ci" },
        },
      ]);
      expect((await request("DELETE", `/plants/%2D${-id}`)).status).toBe(204);
    });

    test("of deletions and creates of one id at once, each is as if alone", async () => {
      const id = 77n;
      const repeated = async (call: () => Promise<{ status: number }>) => {
        const statuses = new Set<number>();
        for (let round = 0; round < 60; round++) statuses.add((await call()).status);
        return [...statuses];
      };
      const creates = Array.from({ length: 20 }, () => repeated(() => post(target, plantJson(id, "same"))));
      const deletions = Array.from({ length: 20 }, () => repeated(() => request("DELETE", `/plants/${id}`)));
      expect(await Promise.all(creates)).toEqual(Array(20).fill([200]));
      expect(await Promise.all(deletions)).toEqual(Array(20).fill([204]));
      await request("DELETE", `/plants/${id}`);
      await create(id, "other");
      await using sql = await server.store.openSql();
      const { entries } = await listEdits(plantStore, sql, { id });
      for (const { before } of entries) expect(before).toEqual(plant({ id, name: "same" }));
      await request("DELETE", `/plants/${id}`);
    });

    test("needs a token, offers no other method, and tells pages of the Link", async () => {
      for (const [method, path] of [
        ["GET", "/plants"],
        ["DELETE", "/plants/1"],
      ] as const) {
        const without = await send(target.url + path, { method });
        expect(without).toMatchObject({ status: 401, json: { error: 40100 } });
      }
      const put = await request("PUT", "/plants");
      expect([put.status, put.headers.get("allow")]).toEqual([405, "POST, GET, HEAD"]);
      const putOne = await request("PUT", "/plants/1");
      expect([putOne.status, putOne.headers.get("allow")]).toEqual([405, expect.stringContaining("DELETE")]);
      const page = await request("GET", "/plants", { Origin: "https://docs.example" });
      expect(page.headers.get("access-control-expose-headers")).toContain("Link");
      const preflight = await send(`${target.url}/plants/1`, {
        method: "OPTIONS",
        headers: { Origin: "https://docs.example", "Access-Control-Request-Method": "DELETE" },
      });
      expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, POST, DELETE");
    });
  });
}
