// A description of three collections, with ids of clients, UUIDs, and ids of the server, on every
// engine.

import { describe, expect, test } from "bun:test";
import { collectionOperations } from "../../../src/collection-operations/index.ts";
import { parseExactJson } from "../../../src/core/contract/json/exact-json.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { send } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { runCommand } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";
import { openedStore } from "../../support/stored-plants.ts";

const file = contractFile("estate.yaml");
const source = { text: await Bun.file(file).text() };
const uuid = "0190b3a4-2a1b-7c3d-8e4f-5a6b7c8d9e0f";

for (const engine of engines)
  describe(`${engine.name}: estate`, () => {
    async function start() {
      await using starting = new AsyncDisposableStack();
      const { database } = starting.use(await engine.createTestStore(source));
      const store = await openedStore(database, undefined, source);
      const operations = store.contract.collections.flatMap((each) => collectionOperations(each));
      const server = starting.use(await startInProcess({ database, store, operations, basePath: "" }));
      const { url, token } = await server.target();
      const resources = starting.move();
      const request = async (
        method: string,
        at: string,
        body?: object,
        headers: Record<string, string> = {},
      ) => {
        const answer = await send(url + at, {
          method,
          headers: {
            Authorization: `Bearer ${token}`,
            "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return { status: answer.status, json: answer.text === "" ? undefined : parseExactJson(answer.text) };
      };
      return { database, store, server, request, [Symbol.asyncDispose]: () => resources.disposeAsync() };
    }

    test("each collection has its own ids, lists, changes and deletions", async () => {
      await using estate = await start();
      const { request } = estate;
      const event = { eventName: "Pirate workshop", location: "Computer room" };
      expect((await request("POST", "/parcels", { id: 7, sender: "Ada" })).status).toBe(201);
      expect((await request("POST", "/couriers", { courierId: uuid, name: "Grace" })).status).toBe(201);
      const created = await request("POST", "/special-events", event, { "Idempotency-Key": "k" });
      expect(created).toMatchObject({ status: 201, json: event });
      expect(await request("POST", "/special-events", event, { "Idempotency-Key": "k" })).toEqual(created);
      const { eventId } = created.json as { eventId: bigint | number };
      // The id of one collection is free in the others.
      expect((await request("GET", `/special-events/7`)).status).toBe(404);
      expect((await request("GET", `/parcels/${eventId}`)).status).toBe(404);
      expect((await request("POST", "/parcels", { id: 7, sender: "Bob" })).status).toBe(400);

      expect((await request("GET", "/parcels")).json).toEqual([{ id: 7, sender: "Ada" }]);
      expect((await request("GET", "/couriers")).json).toMatchObject({ items: [{ courierId: uuid }] });
      expect((await request("GET", "/special-events")).json).toEqual([created.json]);
      const changed = await request("PATCH", "/parcels/7", { weight: 1.5 });
      expect(changed).toEqual({ status: 200, json: { id: 7, sender: "Ada", weight: 1.5 } });
      const moved = { ...event, location: "Hall" };
      expect((await request("PUT", `/special-events/${eventId}`, moved)).json).toEqual({ eventId, ...moved });
      expect((await request("DELETE", `/couriers/${uuid}`)).status).toBe(204);
      expect((await request("GET", `/couriers/${uuid}`)).status).toBe(404);
      expect((await request("GET", "/parcels/7")).json).toEqual({ id: 7, sender: "Ada", weight: 1.5 });
      expect((await request("POST", "/search", { text: "x" })).status).toBe(501);
      expect((await request("GET", "/nothing")).json).toEqual({
        message: expect.stringContaining("and 2 other paths are described"),
      });
    });

    // On SQLite conformance/collections.test.ts checks them.
    if (engine.name !== "sqlite")
      test("it keeps the rules of the kit in all collections", async () => {
        await using estate = await start();
        const { url, token } = await estate.server.target();
        const options = ["--contract", file, "--url", url, "--token", token];
        const rules = ["--rule", "contract,ids,idempotence"];
        const { exitCode, stdout } = await runCommand(["conformance", ...options, ...rules]);
        expect([exitCode, stdout]).toEqual([0, expect.stringContaining(" rules hold, 0 do not, ")]);
      });

    test("creates of all collections at once share batches, and each has its outcome", async () => {
      await using estate = await start();
      const { request, store } = estate;
      const statuses = await Promise.all(
        Array.from({ length: 300 }, async (_, index) => {
          const id = Math.floor(index / 3);
          // Of the parcels, every third is a second one with another sender.
          if (index % 3 === 0)
            return (await request("POST", "/parcels", { id: id % 70, sender: `s${id}` })).status;
          if (index % 3 === 1)
            return (await request("POST", "/couriers", { courierId: crypto.randomUUID(), name: `c${id}` }))
              .status;
          return (await request("POST", "/special-events", { eventName: `e${id}`, location: "x" })).status;
        }),
      );
      const count = (status: number) => statuses.filter((each) => each === status).length;
      expect([count(201), count(400)]).toEqual([270, 30]);
      await using sql = await store.openSql();
      for (const [table, plants] of [
        ["parcels", 70n],
        ["couriers", 100n],
        ["special_events", 100n],
      ] as const)
        expect(await sql.query(`SELECT count(*) AS plants FROM ${table}`)).toEqual([{ plants }]);
    });

    test("a collection more is taken over, and one with plants is not dropped silently", async () => {
      await using estate = await start();
      const { database, request } = estate;
      await request("POST", "/parcels", { id: 1, sender: "Ada" });
      const description = Bun.YAML.parse(source.text) as { paths: Record<string, object> };
      const { "/parcels": _, "/parcels/{parcelId}": __, ...paths } = description.paths;
      const rooms = JSON.parse(
        JSON.stringify({ "/rooms": description.paths["/parcels"], "/rooms/{id}": {} }).replaceAll(
          "Parcel",
          "Room",
        ),
      );
      const without = { text: JSON.stringify({ ...description, paths }) };
      const withRooms = {
        text: JSON.stringify({
          ...description,
          paths: { ...description.paths, "/rooms": rooms["/rooms"], "/rooms/{id}": {} },
        }).replaceAll(/(?<=\/)Room"/g, 'Parcel"'),
      };
      {
        await using store = await openedStore(database, undefined, withRooms);
        expect(store.contract.collections.map(({ name }) => name)).toEqual([
          "parcels",
          "couriers",
          "special-events",
          "rooms",
        ]);
      }
      expect(await settled(openedStore(database, undefined, without))).toThrow(
        "the contract no longer has /parcels (1 parcel)",
      );
      await using store = await openedStore(database);
      await using sql = await store.openSql();
      expect(await sql.query("SELECT count(*) AS plants FROM parcels")).toEqual([{ plants: 1n }]);
      expect(await sql.query("SELECT count(*) AS plants FROM rooms")).toEqual([{ plants: 0n }]);
    });
  });
