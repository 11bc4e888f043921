// A description of three collections, with ids of clients, UUIDs, and ids of the server, on every
// engine.

import { describe, expect, test } from "bun:test";
import { parseExactJson } from "../../../src/json/exact-json.ts";
import { contractFile, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { engines } from "../../support/engines.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { settled } from "../../support/settled.ts";
import { openedStore } from "../../support/stored-plants.ts";

const source = { text: await Bun.file(contractFile("estate.yaml")).text() };
const uuid = "0190b3a4-2a1b-7c3d-8e4f-5a6b7c8d9e0f";

for (const engine of engines)
  describe(`${engine.name}: estate`, () => {
    const estate = contractServer(engine, "estate.yaml");
    const request = async (...sent: Parameters<typeof estate.request>) => {
      const { status, text } = await estate.request(...sent);
      return { status, json: text === "" ? undefined : parseExactJson(text) };
    };
    const countOf = async (table: string, database: string) => {
      await using store = await openedStore(database);
      await using sql = await store.openSql();
      const [row] = await sql.query<{ plants: bigint }>(`SELECT count(*) AS plants FROM ${table}`);
      return row?.plants;
    };

    test("each collection has its own ids, lists, changes and deletions, and creates of all share batches", async () => {
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
      const changed = await request(
        "PATCH",
        "/parcels/7",
        { weight: 1.5 },
        {
          "Content-Type": "application/merge-patch+json",
        },
      );
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

      const tables = ["parcels", "couriers", "special_events"];
      const before = await Promise.all(tables.map((table) => countOf(table, estate.server.database)));
      const statuses = await Promise.all(
        Array.from({ length: 300 }, async (_, index) => {
          const id = Math.floor(index / 3);
          // Of the parcels, every third is a second one with another sender.
          if (index % 3 === 0)
            return (await request("POST", "/parcels", { id: 1_000 + (id % 70), sender: `s${id}` })).status;
          if (index % 3 === 1)
            return (await request("POST", "/couriers", { courierId: crypto.randomUUID(), name: `c${id}` }))
              .status;
          return (await request("POST", "/special-events", { eventName: `e${id}`, location: "x" })).status;
        }),
      );
      const count = (status: number) => statuses.filter((each) => each === status).length;
      expect([count(201), count(400)]).toEqual([270, 30]);
      const after = await Promise.all(tables.map((table) => countOf(table, estate.server.database)));
      expect(after.map((plants, at) => Number(plants) - Number(before[at]))).toEqual([70, 100, 100]);
    });

    test("a collection more is taken over, and one with plants is not dropped silently", async () => {
      await using place = await engine.createTestStore(source);
      const { database } = place;
      {
        await using server = await startInProcess({ database, contract: source });
        const headers = tokenHeaders(await server.createToken());
        const created = await sendJson(`${server.url}/parcels`, "POST", { id: 1, sender: "Ada" }, headers);
        expect(created.status).toBe(201);
      }
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
        /the contract no longer has \/parcels \([1-9]\d* parcels?\)/,
      );
      expect(await Promise.all(["parcels", "rooms"].map((table) => countOf(table, database)))).toEqual([
        1n,
        0n,
      ]);
    });
  });
