// The console's API for its form, tokens, import, export, recent requests and charts.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { createPlant } from "../../../src/console/new-plant.ts";
import type { RecentRequests } from "../../../src/console/recent-requests.ts";
import { ConsoleClient, importColumns } from "../../support/console.ts";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { csvLine, storePlants } from "../../support/stored-plants.ts";

type FormResponse = Awaited<ReturnType<typeof createPlant>>;

/** Adds a plant by the form, as the operator unless a token is given. */
async function addPlant(client: ConsoleClient, body: string, token = ""): Promise<FormResponse> {
  const { status, json } = await client.write("plants", { token, body });
  expect(status).toBe(200);
  return json as FormResponse;
}

async function exportText(url: string, query: Record<string, string>): Promise<string> {
  const response = await fetch(`${url}/console/api/export?${new URLSearchParams(query)}`);
  expect(response.status).toBe(200);
  return response.text();
}

for (const engine of engines) {
  describe(`${engine.name}: the console`, () => {
    const resources = new AsyncDisposableStack();
    let server: RunningServer;
    let url: string;
    let client: ConsoleClient;
    beforeAll(async () => {
      const place = resources.use(await engine.createTestStore());
      // More than one page of an export.
      const plants = Array.from({ length: 1_200 }, (_, id) => ({ id: BigInt(id), name: "Hoya" }));
      await storePlants(place.database, plants);
      server = resources.use(await RunningServer.startInProcess({ ...place, args: ["--base-path", "/v1"] }));
      url = await server.adminUrl();
      client = await ConsoleClient.of(server);
    });
    afterAll(() => resources.disposeAsync());

    test("the form sends as the operator, or with a token, with the checks of the public operation", async () => {
      for (const [id, token] of [
        [9223372036854775807n, ""],
        [9007199254740993n, await server.createToken()],
      ] as const) {
        for (let time = 1; time <= 2; time++)
          expect(await addPlant(client, plantJson(id, "Pilea"), token)).toMatchObject({
            status: 200,
            headers: expect.arrayContaining([["x-request-id", expect.any(String)]]),
            body: '{"name":"Pilea"}',
          });
        const errorOf = async (body: string) => JSON.parse((await addPlant(client, body, token)).body).error;
        expect(await errorOf(plantJson(id, "Ficus"))).toBe(40009);
        expect(await errorOf("{")).toBe(40001);
        expect(await errorOf('{"id":1}')).toBe(40002);
        expect(await errorOf(plantJson(1n, "x".repeat(2 ** 20)))).toBe(41300);
      }
      const line = await server.logged(({ msg }) => msg === "plant created");
      expect(line).toMatchObject({ id: "9223372036854775807", by: "console", client: "127.0.0.1" });
      expect(await addPlant(client, "{", "pst_wrong")).toMatchObject({
        status: 401,
        body: expect.stringContaining("40101"),
      });
      for (const token of ["pst_\u2026", "a\nb", "a\u0000"])
        expect((await client.write("plants", { token, body: "{" })).status).toBe(400);
    });

    // PostgreSQL cannot be asked for such a name.
    test("no token has a name that cannot be stored", async () => {
      for (const name of ["a\0", "\ud800"])
        for (const [call, body] of [
          ["tokens/rotate", { name, overlap: "1d", expires: "" }],
          ["tokens/revoke", { name }],
        ] as const)
          expect((await client.write(call, body)).status).toBe(404);
    });

    test("all plants or those of a search are exported, in a format that an import accepts", async () => {
      const long = "ל".repeat(400);
      await addPlant(client, JSON.stringify({ id: 7_001, name: `${long}, "quoted"`, tag: "export" }));
      await addPlant(client, JSON.stringify({ id: 7_002, name: "line\nend", tag: "export" }));
      const csv = await exportText(url, { format: "csv", group: "export" });
      const rows = [
        ["id", "name", "tag"],
        ["7001", `"${long}, ""quoted"""`, "export"],
        ["7002", '"line\nend"', "export"],
      ];
      expect(csv).toBe(rows.map((cells) => `${csvLine(cells)}\n`).join(""));
      const all = await exportText(url, { format: "ndjson" });
      expect(all).toBe((await server.command("export", "--quiet")).stdout);
      const lines = all.trimEnd().split("\n");
      const byText = await exportText(url, { format: "ndjson", word: "line\nend" });
      expect(byText).toBe(`${lines.find((line) => line.includes("line\\nend"))}\n`);
      const byId = await exportText(url, { format: "ndjson", word: "7001" });
      expect(byId).toBe(`${lines.find((line) => line.includes('"id":7001,'))}\n`);
      expect((await fetch(`${url}/console/api/export?format=xml`)).status).toBe(400);
    });
  });
}

describe("the console", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  let server: RunningServer;
  let client: ConsoleClient;
  beforeAll(async () => {
    server = resources.use(await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` }));
    client = await ConsoleClient.of(server);
  });
  afterAll(() => resources.disposeAsync());

  type RequestList = ReturnType<RecentRequests["list"]>;
  const requests = async (query = "") => (await client.read(`requests?${query}`)).json as RequestList;

  test("the recent requests have code, message, token and and duration", async () => {
    const target = { url: server.url, token: await server.createToken("the shop") };
    await post(target, plantJson(1n, "Ficus"));
    await post(target, plantJson(1n, "another"));
    await post({ ...target, token: "wrong" }, plantJson(1n, "Ficus"));
    const before = await requests();
    expect(before.counts).toEqual({ created: 1, 40009: 1, 40101: 1 });
    const [unauthorized, conflict] = before.requests;
    expect(unauthorized).toMatchObject({ code: "40101", status: 401, token: null });
    expect(conflict).toMatchObject({ code: "40009", status: 400, token: "the shop" });
    expect(conflict?.message).toContain("The id 1 already holds a different plant");
    expect(conflict?.ms).toBeGreaterThan(0);
    expect(Math.abs(Date.parse(conflict?.at ?? "") - Date.now())).toBeLessThan(3_600_000);
  });

  test("a file is imported, counted and logged, and its rejected lines are in the response", async () => {
    const url = await server.adminUrl();
    const settings = new URLSearchParams({
      format: "csv",
      delimiter: ";",
      columns: importColumns("0,1,2,true"),
      update: "off",
    });
    const response = await fetch(`${url}/console/api/import?${settings}`, {
      method: "POST",
      headers: { "X-Plantstore-Console": "1", "Content-Type": "application/octet-stream" },
      body: new Blob(["id;name;tag\n90000;Hoya;wax\nnope;Hoya;wax\n"]),
    });
    const json = (await response.json()) as { report: string };
    expect(json).toMatchObject({ created: 1, rejected: 1, message: null });
    expect(json.report).toStartWith('id;name;tag;reason\nnope;Hoya;wax;"line 3: 40002 ');
    expect(await server.metric('plantstore_operator_plants_total{outcome="created"}')).toBe(1);
    const line = await server.logged(({ msg }) => msg === "import in the console ended");
    expect(line).toMatchObject({ created: 1, rejected: 1 });
  });
});
