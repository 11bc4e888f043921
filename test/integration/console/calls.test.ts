// The console's calls over HTTP: plants on every engine, the export, an import, and requests that
// the page does not send.

import { afterAll, describe, expect, test } from "bun:test";
import type { RecentRequests } from "../../../src/console/reads/recent-requests.ts";
import { ConsoleClient } from "../../support/console.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { csvLine, storePlants } from "../../support/stored-plants.ts";

interface ListedPlant {
  readonly id: string;
  readonly version: string;
}

for (const engine of engines)
  describe(`${engine.name}: the console`, () => {
    test("lists plants page by page, with exact ids and the token that created them, counts and edits them", async () => {
      await using place = await engine.createTestStore();
      await storePlants(
        place.database,
        Array.from({ length: 60 }, (_, index) => ({ id: BigInt(index), name: "stored" })),
      );
      await using server = await RunningServer.startInProcess(place);
      const target = { url: server.url, token: await server.createToken("ci") };
      const client = await ConsoleClient.of(server);
      const list = (query: Record<string, string>) => client.plants<ListedPlant>(query);
      const [max, middle, min] = ["9223372036854775807", "9007199254740993", "-9223372036854775808"] as const;
      await post(target, plantJson(BigInt(max), "x".repeat(5_000), "long"));
      await post(target, plantJson(BigInt(middle), "\u202e<script>\n"));
      await post(target, plantJson(BigInt(min), "", ""));

      const first = await list({});
      const ids = first.plants.map(({ id }) => id);
      expect([ids.length, ...ids.slice(0, 3)]).toEqual([50, max, middle, "59"]);
      expect(first.plants[0]).toMatchObject({
        values: ["x".repeat(300), "long"],
        createdAt: expect.any(String),
        token: "ci",
      });
      const rest = await list({ after: first.next ?? "" });
      expect([rest.plants.length, rest.plants.at(-1)?.id, rest.next]).toEqual([13, min, null]);
      expect((await client.read(`plant?id=${middle}`)).json).toEqual({
        id: middle,
        values: ["\u202e<script>\n", null],
        createdAt: expect.any(String),
        token: "ci",
        version: first.plants[1]?.version,
      });
      expect((await client.read("plant?id=5")).json).toMatchObject({ token: null });
      expect((await client.read("plant?id=-5")).json).toBeNull();
      const counted = await eventually(
        "the count",
        async () => (await client.read("count")).json as Record<string, unknown>,
        ({ plants }) => plants !== null,
      );
      expect(counted.plants).toBe(63);
      expect(counted.bytes).toBeGreaterThan(0);

      const malformed = { plants: "%E0%A4%A:1", change: "delete", value: "" };
      expect((await client.write("edits", malformed)).status).toBe(400);
      const plants = `${max}:${first.plants[0]?.version}`;
      const edited = await client.write("edits", { plants, change: "delete", value: "" });
      const { run } = edited.json as { run: string };
      expect((await client.read(`plant?id=${max}`)).json).toBeNull();
      expect(await server.logged(({ msg }) => msg === "plants edited")).toMatchObject({ run, deleted: 1 });
      expect((await client.write("edits/undo", { run, id: max })).json).toMatchObject({ undone: 1 });
    });

    test("exports all plants or those of a search, in a format that an import accepts", async () => {
      await using place = await engine.createTestStore();
      const long = "ל".repeat(400);
      await storePlants(place.database, [
        // More than one page of an export.
        ...Array.from({ length: 1_200 }, (_, id) => ({ id: BigInt(id), name: "Hoya" })),
        { id: 7_001n, name: `${long}, "quoted"`, tag: "export" },
        { id: 7_002n, name: "line\nend", tag: "export" },
      ]);
      await using server = await RunningServer.startInProcess(place);
      const url = `${await server.adminUrl()}/console/api/export`;
      const exported = async (query: string) => (await fetch(`${url}?${query}`)).text();
      const rows = [
        ["id", "name", "tag"],
        ["7001", `"${long}, ""quoted"""`, "export"],
        ["7002", '"line\nend"', "export"],
      ];
      expect(await exported("format=csv&is.tag=export")).toBe(
        rows.map((cells) => `${csvLine(cells)}\n`).join(""),
      );
      expect(await exported("format=ndjson")).toBe((await server.command("export")).stdout);
      expect((await fetch(`${url}?format=xml`)).status).toBe(400);
    });
  });

describe("the console", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  afterAll(() => resources.disposeAsync());
  const start = () => RunningServer.startInProcess({ database: `sqlite:${folder.file("plants.db")}` });

  test("lists recent requests with code, message, token and duration, and imports a file", async () => {
    await using server = await start();
    const client = await ConsoleClient.of(server);
    const target = { url: server.url, token: await server.createToken("the shop") };
    await post(target, plantJson(1n, "Ficus"));
    await post(target, plantJson(1n, "another"));
    await post({ ...target, token: "wrong" }, plantJson(1n, "Ficus"));
    const list = (await client.read("requests")).json as ReturnType<RecentRequests["list"]>;
    expect(list.total).toBe(3);
    const [unauthorized, conflict] = list.requests;
    expect(unauthorized).toMatchObject({ error: 40101, status: 401, token: null });
    expect(conflict).toMatchObject({ error: 40009, status: 400, token: "the shop" });
    expect(conflict?.message).toContain("The id 1 already holds a different plant");
    expect(conflict?.ms).toBeGreaterThan(0);
    expect(Math.abs(Date.parse(conflict?.at ?? "") - Date.now())).toBeLessThan(3_600_000);

    const url = `${await server.adminUrl()}/console/api/import?format=csv&update=off`;
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: new Blob(["id;name;tag\n90000;Hoya;wax\nnope;Hoya;wax\n"]),
    });
    const json = (await response.json()) as { report: string };
    expect(json).toMatchObject({ created: 1, rejected: 1, message: null });
    expect(json.report).toStartWith('id;name;tag;reason\nnope;Hoya;wax;"line 3: 40002 ');
    const line = await server.logged(({ msg }) => msg === "import in the console ended");
    expect(line).toMatchObject({ created: 1, rejected: 1 });
  });

  test("rejects requests that the page does not send with a sentence", async () => {
    await using server = await start();
    const client = await ConsoleClient.of(server);
    const bad = [
      "plants",
      "plants?count=51",
      `plants?count=1&word=${"x".repeat(101)}`,
      "plants?count=1&word=%00",
      "plants?count=1&is.tag=%00",
      "plants?count=1&after=9223372036854775808",
      "plants?count=1&from.created=x",
      "plant?id=",
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
});
