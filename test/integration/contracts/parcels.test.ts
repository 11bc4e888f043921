// Another contract than the Plant Store's, with every type of field and the names of an author,
// through the store, the operations, import and export, edits, the console, the sandbox and the
// rules.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { Contents } from "../../../packages/conformance/src/requests/contents.ts";
import { rulesFor } from "../../../packages/conformance/src/rules/all-rules.ts";
import { bearerAccess } from "../../../src/contract/access.ts";
import type { Plant } from "../../../src/contract/contract.ts";
import { plantJson } from "../../../src/contract/plant.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { checkConformance, ofEngines, reportText } from "../../support/conformance.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { readSingle } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { anyPlantOf } from "../../support/random.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";
import { exported, openedStore } from "../../support/stored-plants.ts";

const path = contractFile("parcels.yaml");
const source = { text: await Bun.file(path).text() };
const parcels = await readSingle(source);

const full = `{"id":9007199254740993,"sender":"Ada","fragile":true,"weight":1.50,"volume":0.100,"count":7,"status":"sent","shipped_at":"2026-11-24T12:00:00.5+01:00","reference":"AB-1234","note":null,"items":[{"sku":"tea","price":12345678901234567890.10}],"order":"o","Größe":"ß","__proto__":"p","constructor":"c","created_at":"never","Sender":"ADA","secret":"s"}`;
const returned = full.replace(',"secret":"s"', "");

test("everything of the description is read, or noted", () => {
  expect(parcels.words).toEqual({
    one: "parcel",
    many: "parcels",
    body: "NewParcel",
  });
  expect(parcels.service).toBe("Parcel Store");
  expect([parcels.path, parcels.basePath, parcels.operations.create]).toEqual([
    "/parcels",
    "/v2",
    expect.objectContaining({ operationId: "addParcel", status: 201, access: bearerAccess }),
  ]);
  expect([parcels.titleField?.name, parcels.groupField?.name]).toEqual(["sender", "status"]);
  expect(parcels.notes.map((note) => note.replace(/ \(at .*/, ""))).toEqual([
    "PUT /parcels/{parcelId} is not served, as it describes no body of JSON: it responds with 501",
  ]);
});

for (const engine of engines)
  describe(`${engine.name}: parcels`, () => {
    const parcelServer = contractServer(engine, "parcels.yaml");
    const { request, command } = parcelServer;

    test("are created exactly, again, listed, returned and deleted", async () => {
      expect(parcelServer.server.url).toEndWith("/v2");
      for (let time = 0; time < 2; time++)
        expect(await request("POST", "/parcels", full)).toMatchObject({ status: 201, text: returned });
      const changed = full.replace('"secret":"s"', '"secret":"t"');
      expect((await request("POST", "/parcels", changed)).json).toMatchObject({ error: 40009 });
      const small = '{"id":1,"sender":"Eve","fragile":false}';
      expect(await request("POST", "/parcels", small)).toMatchObject({ status: 201, text: small });
      expect((await request("GET", "/parcels")).text).toBe(`[${small},${returned}]`);
      expect((await request("GET", "/parcels/9007199254740993")).text).toBe(returned);
      expect((await request("GET", "/parcels/2")).json).toMatchObject({ error: 40400 });
      expect((await request("PUT", "/parcels/1")).json).toMatchObject({ error: 50100 });
      const patched = await request("PATCH", "/parcels/1");
      expect([patched.status, patched.headers.get("allow")]).toEqual([405, "GET, HEAD, DELETE"]);
      for (let time = 0; time < 2; time++)
        expect(await request("DELETE", "/parcels/1")).toMatchObject({ status: 204, text: "" });
      const invalid =
        '{"id":3,"fragile":1,"weight":1.999,"count":1001,"status":"lost","reference":"x","items":[{}]}';
      const { message } = (await request("POST", "/parcels", invalid)).json as { message: string };
      expect(message).toStartWith("The body is not a NewParcel: ");
      for (const field of ["sender", "fragile", "weight", "count", "status", "reference", "items"])
        expect(message).toContain(`"${field}" `);
      expect((await request("DELETE", "/parcels/9007199254740993")).status).toBe(204);
    });

    test("of any values come back from the store, NDJSON and CSV, and are unchanged when sent again", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore(source);
      await using store = await openedStore(place.database, undefined, source);
      const random = fc.sample(
        fc.uniqueArray(anyPlantOf(parcels), { minLength: 50, maxLength: 300, selector: ({ id }) => id }),
        {
          numRuns: 1,
          seed: 5,
        },
      )[0] as Plant[];
      for (let time = 0; time < 2; time++)
        expect(new Set(await store.create(toEntries(parcels, random)))).toEqual(
          new Set([time === 0 ? "created" : "unchanged"]),
        );
      const text = await exported(place.database);
      const sorted = random.toSorted((one, other) => (one.id < other.id ? -1 : 1));
      expect(text).toBe(sorted.map((each) => `${plantJson(parcels, each)}\n`).join(""));
      const csv = (await runCommand(["export", "--format", "csv", "--database", place.database])).stdout;
      // The formats do not depend on the engine: one of them shows what the second one stores.
      for (const name of engine === engines[0] ? ["a.ndjson", "b.csv"] : ["b.csv"]) {
        writeFileSync(folder.file(name), name === "b.csv" ? csv : text);
        const imported = await runCommand(["import", folder.file(name), "--database", place.database]);
        expect(imported.stderr).toBe(`0 created, ${random.length} already stored, 0 rejected\n`);
        await using other = await engine.createTestStore(source);
        await using _ = await openedStore(other.database, undefined, source);
        expect((await runCommand(["import", folder.file(name), "--database", other.database])).stderr).toBe(
          `${random.length} created, 0 already stored, 0 rejected\n`,
        );
        expect(await exported(other.database)).toBe(text);
      }
    });

    test("are changed and undone by commands, in their words, which the console has", async () => {
      await request("POST", "/parcels", full);
      const update = await command(
        "update",
        "9007199254740993",
        "--weight",
        "2",
        "--remove-status",
        "--Größe",
        "groß",
        "--items",
        "[]",
      );
      expect(update.stderr).toContain(
        'parcel 9007199254740993: weight 1.50 → 2.00, status "sent" → none, items [{"sku":"tea","price":12345678901234567890.10}] → [], Größe "ß" → "groß"',
      );
      expect((await command("export", "--status", "sent")).stdout).toBe("");
      expect((await command("update", "9007199254740993", "--weight", "-1")).stderr).toContain(
        "--weight must be a number with at most 2 digits after the point, at least 0",
      );
      const run = /--undo (\w+)/.exec(update.stderr)?.[1] ?? "";
      await command("history", "--undo", run);
      expect((await command("get", "9007199254740993")).stdout).toBe(`${full}\n`);

      const page = await fetch(`${await parcelServer.server.adminUrl()}/console/`);
      expect(await page.text()).toContain("<title>Parcel Store console</title>");
      await request("DELETE", "/parcels/9007199254740993");
    });
  });

// On SQLite conformance/bugs.test.ts checks all rules.
for (const engine of engines.filter(({ name }) => name !== "sqlite"))
  describe(`${engine.name}: parcels of the kit`, () => {
    const parcelServer = contractServer(engine, "parcels.yaml");

    test("keep the rules that an engine can break", async () => {
      const contents = new Contents(parcels, parcels);
      const rules = rulesFor(contents);
      expect(rules.filter(({ unfit }) => unfit !== undefined)).toEqual([]);
      const own = rules.filter(({ level }) => ofEngines.includes(level));
      expect(own.length).toBeGreaterThan(30);
      const report = await checkConformance(await parcelServer.server.target(), { contents, rules: own });
      const failed = report.results.filter(({ outcome }) => outcome === "fails");
      if (failed.length > 0) throw new Error(reportText(report));
    });
  });
