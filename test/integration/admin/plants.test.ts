// The console's API for plants and indexes, on every engine.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ConsoleClient } from "../../support/console.ts";
import { engines, testIndex } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { RunningServer, withStore } from "../../support/server.ts";

interface PlantPage {
  readonly plants: readonly { id: string; name: string; tag: string | null; isTruncated: boolean }[];
  readonly order: string;
  readonly from: string;
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
    test("lists the creates of this server newest first, and after a restart the highest ids first", async () => {
      await using place = await engine.createTestStore();
      {
        await using server = await RunningServer.start(place);
        const target = { url: server.url, token: await server.createToken() };
        const client = await ConsoleClient.of(server);
        const ids = Array.from({ length: 60 }, (_, index) => BigInt((index * 37) % 61));
        for (const id of ids) await post(target, plantJson(id, `plant ${id}`));
        // Replays and conflicts are not creates.
        await post(target, plantJson(ids[0] ?? 0n, `plant ${ids[0]}`));
        await post(target, plantJson(ids[1] ?? 0n, "another"));
        const first = await list(client, { by: "newest" });
        expect(first).toMatchObject({ order: "newest", from: "memory" });
        const second = await list(client, { by: "newest", after: first.next ?? "" });
        expect([...getIds(first), ...getIds(second)]).toEqual(ids.toReversed().map(String));
        expect(second.next).toBeNull();
        await server.stop();
      }
      await using server = await RunningServer.start(place);
      const client = await ConsoleClient.of(server);
      const first = await list(client, { by: "newest" });
      expect(first).toMatchObject({ order: "id", from: "store" });
      expect(getIds(first)[0]).toBe("60");
      expect(getIds(await list(client, { by: "newest", after: first.next ?? "" })).at(-1)).toBe("0");
    });

    testIndex(engine, "newest")(
      "the next page continues the same list while the index newest is built and dropped",
      async () => {
        await using place = await engine.createTestStore();
        await using server = await RunningServer.start(place);
        const target = { url: server.url, token: await server.createToken() };
        const client = await ConsoleClient.of(server);
        const create = async (from: bigint, to: bigint) => {
          for (let id = from; id <= to; id++) await post(target, plantJson(id, "Hoya"));
        };
        await create(1n, 60n);
        const firstPage = await list(client, { by: "newest" });
        await withStore(place.database, "writable", ({ indexes }) => indexes.create("newest"));
        await create(61n, 120n);
        const rest = getIds(await list(client, { by: "newest", after: firstPage.next ?? "" }));
        expect(rest).toEqual(Array.from({ length: 10 }, (_, index) => String(10 - index)));

        const indexed = await list(client, { by: "newest" });
        expect(getIds(indexed)[0]).toBe("120");
        await withStore(place.database, "writable", ({ indexes }) => indexes.drop("newest"));
        const dropped = await client.read(
          `plants?${new URLSearchParams({ by: "newest", after: indexed.next ?? "" })}`,
        );
        expect(dropped.status).toBe(400);
      },
    );

    test("ids are exact, and the export of a page is in the format of import", async () => {
      await using place = await engine.createTestStore();
      await using server = await RunningServer.start(place);
      const target = { url: server.url, token: await server.createToken() };
      const client = await ConsoleClient.of(server);
      const lines = [
        plantJson(9223372036854775807n, "x".repeat(5_000), "long"),
        plantJson(9007199254740993n, "\u202e<script>\n"),
        plantJson(-9223372036854775808n, "", ""),
      ];
      for (const line of lines) await post(target, line);
      expect(getIds(await list(client, { by: "id" }))).toEqual([
        "9223372036854775807",
        "9007199254740993",
        "-9223372036854775808",
      ]);
      expect((await list(client, { by: "id", text: "9223372036854775807" })).plants).toEqual([
        { id: "9223372036854775807", name: "x".repeat(300), tag: "long", isTruncated: true },
      ]);
      expect((await client.read("plant?id=9007199254740993")).json).toEqual({
        id: "9007199254740993",
        name: "\u202e<script>\n",
        tag: null,
      });
      expect((await client.read("plant?id=5")).json).toBeNull();
      const exported = await fetch(`${await server.adminUrl()}/console/api/plants/export?by=id`);
      expect(exported.headers.get("content-disposition")).toBe('attachment; filename="plants.ndjson"');
      expect(await exported.text()).toBe(lines.map((line) => `${line}\n`).join(""));
    });

    test("indexes are built and dropped while plants are created", async () => {
      await using place = await engine.createTestStore();
      await using server = await RunningServer.start(place);
      const target = { url: server.url, token: await server.createToken() };
      const client = await ConsoleClient.of(server);
      await Promise.all(
        Array.from({ length: 200 }, (_, id) => post(target, plantJson(BigInt(id), `Hoya ${id}`, "wax"))),
      );
      const states = async () =>
        (await client.read("indexes")).json as {
          states: Record<string, string>;
          changing: unknown;
          failure: unknown;
        };
      for (const [change, state] of [
        ["create", "ready"],
        ["drop", "none"],
      ] as const) {
        for (const name of engine.indexNames) {
          const responses = Array.from({ length: 20 }, (_, index) =>
            post(target, plantJson(BigInt(`${change.length}${name.length}${index}000`), "Hoya", "wax")),
          );
          expect((await client.write("indexes", { name, change })).status).toBe(202);
          for (;;) {
            const now = await states();
            expect(now.failure).toBeNull();
            if (now.changing === null && now.states[name] === state) break;
            await Bun.sleep(20);
          }
          expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(Array(20).fill(200));
        }
        if (change === "create" && engine.indexNames.includes("newest")) {
          // The index is empty at first, and holds the plants created since.
          await post(target, plantJson(-1n, "Pilea"));
          expect(await list(client, { by: "newest" })).toMatchObject({ order: "newest", from: "store" });
        }
        const found = await list(client, { by: "name", text: "Hoya 19" });
        expect(found.plants.length).toBe(11);
        expect(found.order).toBe(change === "create" ? "name" : "id");
      }
    });

    describe("on one server", () => {
      const resources = new AsyncDisposableStack();
      let server: RunningServer;
      beforeAll(async () => {
        const place = resources.use(await engine.createTestStore());
        const args = ["--base-path", "/v1", "--body-bytes-max", "1000"];
        server = resources.use(await RunningServer.start({ ...place, args }));
      });
      afterAll(() => resources.disposeAsync());

      test("indexes are built and dropped on the command line, too", async () => {
        const created = await server.command("index", "create", "tag");
        expect(created).toEqual({ exitCode: 0, stdout: "", stderr: "Index tag created.\n" });
        expect((await server.command("index", "list")).stdout).toBe(
          "INDEX   STATE\nnewest  none\nname    none\ntag     ready\n",
        );
        expect((await server.command("index", "drop", "tag")).stderr).toBe("Index tag dropped.\n");
        expect(await server.command("index", "create", "id")).toMatchObject({ exitCode: 2, stdout: "" });
      });

      test("an index is built on the command line while the server commits without a pause", async () => {
        const target = { url: server.url, token: await server.createToken() };
        const [name = ""] = engine.indexNames;
        // More than one create waits at any time, so that a commit begins when the one before it ends.
        const load = new Load();
        const loading = load.untilStopped([target], 8);
        for (const change of ["create", "drop"]) {
          const { exitCode, stderr } = await server.command("index", change, name);
          expect([exitCode, stderr]).toEqual([
            0,
            expect.stringMatching(/^Index \w+ (?:created|dropped)\.\n$/),
          ]);
        }
        load.stop();
        await loading;
        expect([...load.statuses.keys(), ...load.unanswered]).toEqual([200]);
      });

      test("a create goes through the public operation, with the same errors as for any client", async () => {
        const token = await server.createToken();
        const client = await ConsoleClient.of(server);
        const create = async (token: string, body: string) => {
          const response = (await client.write("plants", { token, body })).json as {
            readonly status: number;
            readonly headers: unknown;
            readonly body: string;
          };
          return { ...response, body: JSON.parse(response.body) };
        };
        const body = '{"id": 9007199254740993, "name": "Monstera"}';
        expect(await create(token, body)).toEqual({
          status: 200,
          headers: expect.arrayContaining([["x-request-id", expect.any(String)]]),
          body: { name: "Monstera" },
        });
        expect(await create(token, body.replace("Monstera", "Ficus"))).toMatchObject({
          status: 400,
          body: { error: 40009 },
        });
        expect(await create("pst_wrong", body)).toMatchObject({ status: 401, body: { error: 40101 } });
        for (const invalid of ["pst_\u2026", "a\nb", "a\u0000"])
          expect((await client.write("plants", { token: invalid, body })).status).toBe(400);
        expect(await create(token, "{")).toMatchObject({ status: 400, body: { error: 40001 } });
        expect(await create(token, "x".repeat(1_001))).toMatchObject({ status: 413, body: { error: 41300 } });
        const { samples } = (await client.read("history")).json as { samples: unknown[] };
        expect(samples).toBeArray();
      });
    });
  });
}

test("requests that the page does not send are rejected with a sentence", async () => {
  await using place = await engines[0]?.createTestStore();
  if (place === undefined) throw new Error("no engine is available");
  await using server = await RunningServer.start(place);
  const client = await ConsoleClient.of(server);
  const bad = [
    "plants?by=colour",
    "plants?by=id&text=9223372036854775808",
    "plants?by=id&text=1.5",
    `plants?by=name&text=${"x".repeat(101)}`,
    "plants?by=name&text=%00",
    "plants?by=id&after=id.9223372036854775808",
    "plants?by=id&after=nonsense",
    "plant?id=",
    "history?since=-1",
  ];
  for (const path of bad) {
    const { status, json } = await client.read(path);
    expect([path, status]).toEqual([path, 400]);
    expect((json as { message: string }).message).toEndWith(".");
  }
  expect((await client.write("tokens", { name: "x" })).status).toBe(400);
  expect((await client.write("tokens", { name: "x", expires: "yesterday" })).status).toBe(400);
  expect((await client.write("tokens", { name: "a\nb", expires: "" })).status).toBe(400);
  expect((await client.write("tokens/revoke", { name: "unknown" })).status).toBe(404);
  expect((await client.write("indexes", { name: "id", change: "create" })).status).toBe(400);
  for (const name of ["unknown", "constructor", "toString", "__proto__"]) {
    expect((await client.read(name)).status).toBe(404);
    expect((await client.write(name, {})).status).toBe(404);
  }
});
