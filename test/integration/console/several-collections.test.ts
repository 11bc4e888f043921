// The console of a contract with several collections: each call is about the one that it names.

import { describe, expect, test } from "bun:test";
import type { PageContract } from "../../../src/console/page-contract.ts";
import type { Sample } from "../../../src/console/reads/recent-samples.ts";
import { ConsoleClient } from "../../support/console.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { send } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

interface Row {
  readonly id: string;
  readonly values: readonly (string | null)[];
  readonly version: string;
}

const path = contractFile("estate.yaml");
const courierId = "0190b3a4-2a1b-7c3d-8e4f-5a6b7c8d9e0f";

for (const engine of engines)
  describe(`${engine.name}: the console of an estate`, () => {
    test("lists, finds, edits, imports, exports and counts the collection that a call names", async () => {
      await using place = await engine.createTestStore({ text: await Bun.file(path).text() });
      await using server = await RunningServer.startInProcess({ ...place, args: ["--contract", path] });
      const client = await ConsoleClient.of(server);
      const { contract } = (await client.read("session")).json as { contract: PageContract };
      expect(contract.collections.map(({ name, id }) => [name, id.isMade])).toEqual([
        ["parcels", false],
        ["couriers", false],
        ["special-events", true],
      ]);
      const rows = async (collection: string, query: Record<string, string> = {}) =>
        (await client.plants<Row>({ collection, ...query })).plants;
      const add = (collection: string, body: object) =>
        client.write(`plants?collection=${collection}`, { body: JSON.stringify(body) });

      // Without a name, a call is about the first.
      expect(await client.write("plants", { body: '{"id":7,"sender":"Ada"}' })).toMatchObject({
        json: { id: "7" },
      });
      expect((await add("couriers", { courierId, name: "Ada" })).json).toEqual({ id: courierId });
      const event = { eventName: "Pirate workshop", location: "Room 7" };
      const made = [await add("special-events", event), await add("special-events", event)];
      const ids = made.map(({ json }) => (json as { id: string }).id);
      expect((await rows("special-events")).map(({ id }) => id)).toEqual(ids.toReversed());
      expect((await add("garages", {})).json).toEqual({
        message: "The collection must be parcels, couriers or special-events.",
      });
      expect((await rows("couriers", { word: "Ada" })).map(({ id }) => id)).toEqual([courierId]);
      expect((await rows("parcels", { word: "workshop" })).length).toBe(0);

      const csv = "id,sender\n7,Ada\n8,Eve\n";
      const url = `${await server.adminUrl()}/console/api`;
      const headers = { "Content-Type": "application/octet-stream" };
      const imported = await send(`${url}/import?format=csv&update=off&collection=parcels`, {
        method: "POST",
        headers,
        body: new Blob([csv]),
      });
      expect(imported.json).toMatchObject({ created: 1, unchanged: 1, message: null });
      // A file without ids makes them from its name, as the command does.
      const importEvents = async (name: string) =>
        (
          await send(`${url}/import?format=csv&update=off&collection=special-events&name=${name}`, {
            method: "POST",
            headers,
            body: new Blob(["eventName,location\nGlass blowing,Yard\nGlass blowing,Yard\n"]),
          })
        ).json;
      expect(await importEvents("may.csv")).toMatchObject({ created: 2, unchanged: 0, message: null });
      expect(await importEvents("may.csv")).toMatchObject({ created: 0, unchanged: 2, message: null });
      expect(await importEvents("june.csv")).toMatchObject({ created: 2, unchanged: 0, message: null });
      const exported = await fetch(`${url}/export?format=ndjson&collection=special-events`);
      expect(exported.headers.get("content-disposition")).toContain("special-events.ndjson");
      expect((await exported.text()).match(/Pirate workshop/g)).toHaveLength(2);
      for (const [name, plants] of Object.entries({ parcels: 2, couriers: 1, "special-events": 6 }))
        await eventually(
          `the count of ${name}`,
          async () => (await client.read(`count?collection=${name}`)).json as { plants: number | null },
          (count) => count.plants === plants,
        );

      const [parcel] = await rows("parcels", { word: "Ada" });
      const deleted = await client.write("edits?collection=parcels", {
        plants: `7:${parcel?.version}`,
        change: "delete",
        value: "",
      });
      const { run } = deleted.json as { run: string };
      const undo = (collection: string) =>
        client.write(`edits/undo?collection=${collection}`, { run, id: "" });
      expect(await undo("couriers")).toMatchObject({ status: 404 });
      expect((await undo("parcels")).json).toMatchObject({ undone: 1 });
      const edits = async (collection: string) =>
        ((await client.read(`edits?collection=${collection}&id=7`)).json as { edits: unknown[] }).edits;
      expect([await edits("parcels"), await edits("special-events")].map(({ length }) => length)).toEqual([
        2, 0,
      ]);
    });
  });

test("charts count the creates and errors of the collection that is named", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("estate.db")}`;
  await using server = await RunningServer.startInProcess({ database, args: ["--contract", path] });
  const client = await ConsoleClient.of(server);
  const token = await server.createToken("ci");
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const create = (name: string, body: string) =>
    send(`${server.url}/${name}`, { method: "POST", headers, body });
  expect((await create("parcels", '{"id":7,"sender":"Ada"}')).status).toBe(201);
  expect((await create("parcels", '{"id":8,"sender":"Ada"}')).status).toBe(201);
  expect((await create("couriers", "{}")).status).toBe(400);
  await client.write("plants?collection=couriers", {
    body: JSON.stringify({ courierId, name: "Grace" }),
  });
  const counts = async (name: string) => {
    const { samples } = (await client.read(`history?collection=${name}`)).json as { samples: Sample[] };
    const sum = (count: (sample: Sample) => number) =>
      samples.reduce((total, each) => total + count(each), 0);
    return [
      sum(({ created }) => created),
      sum(({ imported }) => imported),
      sum(({ errors }) => Object.keys(errors).length),
    ];
  };
  await eventually("the sample", async () => (await counts("parcels"))[0] === 2);
  expect([await counts("couriers"), await counts("special-events")]).toEqual([
    [0, 1, 1],
    [0, 0, 0],
  ]);
});
