// The console's lists of plants, exports and creates, on every engine, as its page asks for them.

import { describe, expect, test } from "bun:test";
import { ConsoleClient } from "../../support/console.ts";
import { engines } from "../../support/engines.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";

interface Listed {
  readonly plants: readonly { id: string; name: string; tag: string | null; isTruncated: boolean }[];
  readonly order: string;
  readonly from: string;
  readonly next: string | null;
}

async function listed(client: ConsoleClient, query: Record<string, string>): Promise<Listed> {
  const { status, json } = await client.read(`plants?${new URLSearchParams(query)}`);
  expect(status).toBe(200);
  return json as Listed;
}

const idsOf = ({ plants }: Listed) => plants.map(({ id }) => id);

for (const engine of engines) {
  describe(`${engine.name}: the console`, () => {
    test("lists what this server created newest first, and after a restart the highest ids", async () => {
      await using place = await engine.newPlace();
      {
        await using server = await RunningServer.start(place);
        const target = { url: server.url, token: await server.createToken() };
        const client = await ConsoleClient.of(server);
        const ids = Array.from({ length: 60 }, (_, index) => BigInt((index * 37) % 61));
        for (const id of ids) await post(target, plantJson(id, `plant ${id}`));
        // Neither replays nor refusals are creates.
        await post(target, plantJson(ids[0] ?? 0n, `plant ${ids[0]}`));
        await post(target, plantJson(ids[1] ?? 0n, "another"));
        const first = await listed(client, { by: "newest" });
        expect(first).toMatchObject({ order: "newest", from: "memory" });
        const second = await listed(client, { by: "newest", after: first.next ?? "" });
        expect([...idsOf(first), ...idsOf(second)]).toEqual(ids.toReversed().map(String));
        expect(second.next).toBeNull();
        await server.stop();
      }
      await using server = await RunningServer.start(place);
      const client = await ConsoleClient.of(server);
      const first = await listed(client, { by: "newest" });
      expect(first).toMatchObject({ order: "id", from: "store" });
      expect(idsOf(first)[0]).toBe("60");
      expect(idsOf(await listed(client, { by: "newest", after: first.next ?? "" })).at(-1)).toBe("0");
    });

    test("the next page is that of the list that was begun, while the index of the newest is made and dropped", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start(place);
      const target = { url: server.url, token: await server.createToken() };
      const client = await ConsoleClient.of(server);
      const create = async (from: bigint, to: bigint) => {
        for (let id = from; id <= to; id++) await post(target, plantJson(id, "Hoya"));
      };
      await create(1n, 60n);
      const begun = await listed(client, { by: "newest" });
      expect((await server.command("index", "create", "newest")).exitCode).toBe(0);
      await create(61n, 120n);
      const rest = idsOf(await listed(client, { by: "newest", after: begun.next ?? "" }));
      expect(rest).toEqual(Array.from({ length: 10 }, (_, index) => String(10 - index)));

      const anew = await listed(client, { by: "newest" });
      expect(idsOf(anew)[0]).toBe("120");
      expect((await server.command("index", "drop", "newest")).exitCode).toBe(0);
      const lost = await client.read(
        `plants?${new URLSearchParams({ by: "newest", after: anew.next ?? "" })}`,
      );
      expect(lost.status).toBe(400);
    });

    test("ids are exact, and a page is exported as import takes it", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start(place);
      const target = { url: server.url, token: await server.createToken() };
      const client = await ConsoleClient.of(server);
      const lines = [
        plantJson(9223372036854775807n, "x".repeat(5_000), "long"),
        plantJson(9007199254740993n, "\u202e<script>\n"),
        plantJson(-9223372036854775808n, "", ""),
      ];
      for (const line of lines) await post(target, line);
      expect(idsOf(await listed(client, { by: "id" }))).toEqual([
        "9223372036854775807",
        "9007199254740993",
        "-9223372036854775808",
      ]);
      expect((await listed(client, { by: "id", text: "9223372036854775807" })).plants).toEqual([
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

    test("an index is made and dropped while plants are created", async () => {
      await using place = await engine.newPlace();
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
        for (const name of ["newest", "name", "tag"]) {
          const answers = Array.from({ length: 20 }, (_, index) =>
            post(target, plantJson(BigInt(`${change.length}${name.length}${index}000`), "Hoya", "wax")),
          );
          expect((await client.write("indexes", { name, change })).status).toBe(202);
          for (;;) {
            const now = await states();
            expect(now.failure).toBeNull();
            if (now.changing === null && now.states[name] === state) break;
            await Bun.sleep(20);
          }
          expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill(200));
        }
        if (change === "create") {
          // The index knows no plant yet, and then those that come.
          await post(target, plantJson(-1n, "Pilea"));
          expect(await listed(client, { by: "newest" })).toMatchObject({ order: "newest", from: "store" });
        }
        const found = await listed(client, { by: "name", text: "Hoya 19" });
        expect(found.plants.length).toBe(11);
        expect(found.order).toBe(change === "create" ? "name" : "id");
      }
    });

    test("indexes are made and dropped from the command line, too", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start(place);
      const made = await server.command("index", "create", "tag");
      expect(made).toEqual({ exitCode: 0, stdout: "", stderr: "Index tag created.\n" });
      expect((await server.command("index", "list")).stdout).toBe(
        "INDEX   STATE\nnewest  none\nname    none\ntag     ready\n",
      );
      expect((await server.command("index", "drop", "tag")).stderr).toBe("Index tag dropped.\n");
      expect(await server.command("index", "create", "id")).toMatchObject({ exitCode: 2, stdout: "" });
    });

    test("an index is made from the command line while the server commits without a pause", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start(place);
      const target = { url: server.url, token: await server.createToken() };
      let isBusy = true;
      const load = Array.from({ length: 64 }, async () => {
        while (isBusy) await post(target, plantJson(freshId(), "Monstera"));
      });
      for (const change of ["create", "drop", "create"]) {
        const { exitCode, stderr } = await server.command("index", change, "newest");
        expect([exitCode, stderr]).toEqual([
          0,
          expect.stringMatching(/^Index newest (?:created|dropped)\.\n$/),
        ]);
      }
      isBusy = false;
      await Promise.all(load);
    });

    test("a plant goes through the real operation, and is refused as any client's", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start({
        ...place,
        args: ["--base-path", "/v1", "--body-bytes-max", "1000"],
      });
      const token = await server.createToken();
      const client = await ConsoleClient.of(server);
      const create = async (token: string, body: string) =>
        (await client.write("plants", { token, body })).json;
      const body = '{"id": 9007199254740993, "name": "Monstera"}';
      expect(await create(token, body)).toEqual({
        status: 200,
        requestId: expect.any(String),
        answer: { name: "Monstera" },
      });
      expect(await create(token, body.replace("Monstera", "Ficus"))).toMatchObject({
        status: 400,
        answer: { error: 40009 },
      });
      expect(await create("", body)).toMatchObject({ status: 401, answer: { error: 40100 } });
      expect(await create("pst_wrong", body)).toMatchObject({ status: 401, answer: { error: 40101 } });
      for (const unsendable of ["pst_\u2026", "a\nb", "a\u0000"])
        expect((await client.write("plants", { token: unsendable, body })).status).toBe(400);
      expect(await create(token, "{")).toMatchObject({ status: 400, answer: { error: 40001 } });
      expect(await create(token, "x".repeat(1_001))).toMatchObject({ status: 413, answer: { error: 41300 } });
      const { samples } = (await client.read("history")).json as { samples: unknown[] };
      expect(samples).toBeArray();
    });
  });
}

test("what the page would never send is refused with a sentence", async () => {
  await using place = await engines[0]?.newPlace();
  if (place === undefined) throw new Error("there is no engine");
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
  expect((await client.write("tokens/revoke", { name: "nobody" })).status).toBe(404);
  expect((await client.write("indexes", { name: "id", change: "create" })).status).toBe(400);
  for (const name of ["nowhere", "constructor", "toString", "__proto__"]) {
    expect((await client.read(name)).status).toBe(404);
    expect((await client.write(name, {})).status).toBe(404);
  }
});
