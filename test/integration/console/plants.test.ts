// The console's API for plants, on every engine.

import { describe, expect, test } from "bun:test";
import { fieldNames } from "../../../src/core/contract/fields.ts";
import { ConsoleClient } from "../../support/console.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";
import { exported, storePlants } from "../../support/stored-plants.ts";

interface PlantPage {
  readonly plants: readonly { readonly id: string }[];
  readonly previous: string | null;
  readonly next: string | null;
}

async function list(client: ConsoleClient, query: Record<string, string>): Promise<PlantPage> {
  const { status, json } = await client.read(`plants?${new URLSearchParams(query)}`);
  expect(status).toBe(200);
  return json as PlantPage;
}

const getIds = ({ plants }: PlantPage) => plants.map(({ id }) => id);

for (const engine of engines) {
  describe(`${engine.name}: the console`, () => {
    test("lists plants page by page, with exact ids and the token that created them, and counts them", async () => {
      await using place = await engine.createTestStore();
      const stored = Array.from({ length: 60 }, (_, index) => ({
        id: BigInt(index),
        name: "stored",
        // Too long for the figures: no search finds a tag by its start.
        ...(index === 7 && { tag: "t".repeat(101) }),
      }));
      await storePlants(place.database, stored);
      await using server = await RunningServer.startInProcess(place);
      const target = { url: server.url, token: await server.createToken("ci") };
      const client = await ConsoleClient.of(server);
      const [max, middle, min] = ["9223372036854775807", "9007199254740993", "-9223372036854775808"] as const;
      await post(target, plantJson(BigInt(max), "x".repeat(5_000), "long"));
      await post(target, plantJson(BigInt(middle), "\u202e<script>\n"));
      await post(target, plantJson(BigInt(min), "", ""));

      const first = await list(client, { sort: "created" });
      expect(first).toMatchObject({ order: "created", previous: null });
      // All three may have been created in one millisecond.
      expect([max, middle, min]).toContain(String(first.plants[0]?.id) as typeof min);
      expect(first.plants[0]).toMatchObject({ createdAt: expect.any(String), token: "ci" });
      const second = await list(client, { sort: "created", after: first.next ?? "" });
      expect(new Set([...getIds(first), ...getIds(second)]).size).toBe(63);
      expect(await list(client, { sort: "created", before: second.previous ?? "" })).toEqual(first);
      const highest = await list(client, {});
      expect(getIds(highest).slice(0, 3)).toEqual([max, middle, "59"]);
      expect(getIds(await list(client, { after: highest.next ?? "" })).at(-1)).toBe(min);
      const preview = { name: "x".repeat(300), tag: "long", isTruncated: true };
      expect((await list(client, { word: max })).plants).toMatchObject([{ id: max, ...preview }]);
      expect((await client.read(`plant?id=${middle}`)).json).toEqual({
        ...Object.fromEntries(fieldNames.map((field) => [field, null])),
        id: middle,
        name: "\u202e<script>\n",
        createdAt: expect.any(String),
        token: "ci",
      });
      expect((await client.read("plant?id=5")).json).toMatchObject({ token: null });
      expect((await client.read("plant?id=-5")).json).toBeNull();
      const figures = await eventually(
        "the count",
        async () => (await client.read("inventory")).json as Record<string, unknown>,
        ({ plants }) => plants !== null,
      );
      const created = { hour: 63, day: 63, week: 63, month: 63 };
      expect(figures).toMatchObject({ plants: 63, created });
      expect(Object.fromEntries(figures.groups as [])).toEqual({ "": 1, long: 1 });
      expect(figures.bytes).toBeGreaterThan(0);
    });

    test("a change and a deletion are logged, and what later creates are compared with", async () => {
      await using place = await engine.createTestStore();
      await using server = await RunningServer.start(place);
      const target = await server.target();
      const client = await ConsoleClient.of(server);
      const id = 9007199254740993n;
      const [old, changed] = [plantJson(id, "Monstera", "tropical"), plantJson(id, "Ficus \u{1f331}")];
      expect((await post(target, old)).status).toBe(200);
      const change = (expected: string, replacement: string) =>
        client.write("plant/change", { expected, replacement });
      expect((await change(old, changed)).status).toBe(200);
      // The change is what a client's create is compared with.
      expect((await post(target, old)).json).toMatchObject({ error: 40009 });
      expect((await post(target, changed)).status).toBe(200);
      expect((await server.command("get", String(id))).stdout).toBe(
        `${changed.replaceAll(/([:,]) /g, "$1")}\n`,
      );
      const line = await server.logged(({ msg }) => msg === "plant updated");
      expect(line).toMatchObject({ level: "info", id: String(id), by: "console", client: "127.0.0.1" });
      expect((await client.write("plant/delete", { expected: old })).status).toBe(409);
      expect((await client.write("plant/delete", { expected: changed })).status).toBe(200);
      expect(await server.logged(({ msg }) => msg === "plant deleted")).toMatchObject({ id: String(id) });
      expect((await client.read(`plant?id=${id}`)).json).toBeNull();
      // The id is free again.
      expect((await post(target, old)).status).toBe(200);
      expect((await post(target, changed)).json).toMatchObject({ error: 40009 });

      // A confirmed edit survives kill -9.
      expect((await change(old, changed)).status).toBe(200);
      await server.stop("SIGKILL");
      expect(await exported(place.database)).toBe(`${changed.replaceAll(/([:,]) /g, "$1")}\n`);
    });

    test("an edit of many leaves what has changed since it was shown, or would become too large", async () => {
      await using place = await engine.createTestStore();
      const long = "x".repeat(900);
      await storePlants(
        place.database,
        Array.from({ length: 6 }, (_, id) => ({ id: BigInt(id), name: id < 3 ? "Rosa" : `${long}${id}` })),
      );
      await using server = await RunningServer.startInProcess({
        database: place.database,
        args: ["--body-bytes-max", "1000"],
      });
      const client = await ConsoleClient.of(server);
      const shown = async (call: string) => {
        const { plants } = (await client.read(call)).json as { plants: { id: string; version: string }[] };
        return plants.map(({ id, version }) => `${id}:${version}`).join(" ");
      };
      const onPage = await shown("plants");
      expect((await shown("plants/versions")).split(" ").toSorted()).toEqual(onPage.split(" ").toSorted());
      const change = (expected: string, replacement: string) =>
        client.write("plant/change", { expected, replacement });
      await change(plantJson(0n, "Rosa"), plantJson(0n, "Rosa canina"));
      // Beyond what the list shows of a long text.
      await change(plantJson(3n, `${long}3`), plantJson(3n, `${long}4`));
      await client.write("plant/delete", { expected: plantJson(1n, "Rosa") });

      const edit = (plants: string, kind: string, group = "") =>
        client.write("plants/edit", { plants, change: kind, group });
      const none = { count: 0, ids: [] };
      expect((await edit(onPage, "group", "t".repeat(80))).json).toMatchObject({
        edited: 1,
        unchanged: 0,
        changedMeanwhile: { count: 3, ids: ["3", "1", "0"] },
        tooLarge: { count: 2, ids: ["5", "4"], bodyBytesMax: 1_000 },
      });
      // The second plant has its new tag, and is no longer the one that was shown first.
      expect((await edit(onPage, "delete")).json).toMatchObject({
        edited: 2,
        changedMeanwhile: { count: 4, ids: ["3", "2", "1", "0"] },
        tooLarge: none,
      });
      expect((await edit(await shown("plants/versions"), "delete")).json).toMatchObject({
        edited: 3,
        changedMeanwhile: none,
      });
      expect(await exported(place.database)).toBe("");
    });
  });
}

test("requests that the page does not send are rejected with a sentence", async () => {
  await using place = await engines[0]?.createTestStore();
  if (place === undefined) throw new Error("no engine is available");
  await using server = await RunningServer.startInProcess(place);
  const client = await ConsoleClient.of(server);
  const bad = [
    "plants?sort=colour",
    "plants?direction=sideways",
    `plants?word=${"x".repeat(101)}`,
    "plants?word=%00",
    "plants?group=%00",
    "plants?after=id.9223372036854775808",
    "plants?after=nonsense",
    "plants?before=nonsense",
    "plant?id=",
    "history?since=-1",
  ];
  for (const path of bad) {
    const { status, json } = await client.read(path);
    expect([path, status]).toEqual([path, 400]);
    expect((json as { message: string }).message).toEndWith(".");
  }
  expect((await client.write("tokens", { name: "x" })).status).toBe(400);
  for (const name of ["unknown", "constructor", "toString", "__proto__"]) {
    expect((await client.read(name)).status).toBe(404);
    expect((await client.write(name, {})).status).toBe(404);
  }
});
