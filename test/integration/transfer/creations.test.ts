// Times of creation and creators survive an export and an import between all engines.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { ApiError } from "../../../src/base/errors.ts";
import { parsePlantJson } from "../../../src/contract/plant.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { contractFile, sendJson } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { jsonLines } from "../../support/output.ts";
import { createStore, RunningServer, runCommand, TemporaryFolder, withStore } from "../../support/server.ts";

/** Without tokens for clients. */
const estate = {
  text: (await Bun.file(contractFile("estate.yaml")).text()).replace(/^security: .*/m, "security: []"),
};

const courierId = (index: number) => `0190b3a4-2a1b-7c3d-8e4f-${String(index).padStart(12, "0")}`;

const commandsOf =
  (database: string) =>
  (args: string, input = "") =>
    runCommand([...args.split(" "), "--database", database], {}, input);

/** Stores resources as a token's server did at a time. */
async function storeAsOf(
  database: string,
  table: string,
  jsons: readonly object[],
  createdAt: number,
  token?: string,
): Promise<void> {
  await withStore(database, "writable", async (store) => {
    const collection = store.contract.collections.find(({ name }) => name === table);
    if (collection === undefined) throw new Error(`There is no collection ${table}`);
    const plants = jsons.map((json) => {
      const plant = parsePlantJson(collection, JSON.stringify(json), undefined);
      if (plant instanceof ApiError) throw new Error(plant.message);
      return plant;
    });
    const creator = token === undefined ? null : await store.tokens.creatorKey(token);
    const outcomes = await store.create(toEntries(collection, plants, creator), createdAt);
    expect(new Set(outcomes)).toEqual(new Set(["created"]));
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

/** Resources of several times and tokens: parcels have integers as ids, and couriers texts. */
async function storeEstate(database: string): Promise<void> {
  const parcels = (from: number, to: number) => range(from, to).map((id) => ({ id, sender: `s${id}` }));
  await storeAsOf(database, "parcels", parcels(1, 100), 1_600_000_000_001, 'shop "1",\tö');
  await storeAsOf(database, "parcels", parcels(100, 200), 1_700_000_000_999, "other");
  await storeAsOf(database, "parcels", parcels(200, 203), 0);
  const couriers = (from: number, to: number) =>
    range(from, to).map((index) => ({ courierId: courierId(index), name: `c${index}` }));
  await storeAsOf(database, "couriers", couriers(0, 6), 1_500_000_000_500, "other");
  await storeAsOf(database, "couriers", couriers(6, 12), 1_500_000_000_501);
}

/** Each engine writes each format, and reads what another one wrote, if there is one. */
const pairs = engines
  .flatMap((from) => engines.map((to) => [from, to] as const))
  .filter(([from, to]) => from !== to || engines.length === 1);
for (const [from, to] of pairs)
  for (const format of ["ndjson", "csv"])
    test(`${from.name} -> ${format} -> ${to.name} keeps times and creators`, async () => {
      await using source = await from.createTestStore(estate);
      await using target = await to.createTestStore(estate);
      using folder = new TemporaryFolder();
      for (const { database } of [source, target]) await createStore(database, estate);
      const [exporting, importing] = [commandsOf(source.database), commandsOf(target.database)];
      await storeEstate(source.database);
      // Another key of the same creator, and a resource for which the database inserts row by row.
      await withStore(target.database, "writable", (store) => store.tokens.creatorKeys(["own", "other"]));
      const stored = { id: 150, sender: "s150" };
      await storeAsOf(target.database, "parcels", [stored], 1_700_000_000_999, "other");

      const out = folder.file("out");
      expect(await exporting(`export --with-creation --format ${format} --all ${out}`)).toMatchObject({
        exitCode: 0,
      });
      expect(await importing(`import --with-creation --all ${out}`)).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining("201 created, 1 already stored, 0 rejected\n"),
      });
      for (const collection of ["parcels", "couriers"]) {
        const whole = `export --with-creation --collection ${collection}`;
        expect((await importing(whole)).stdout).toBe((await exporting(whole)).stdout);
      }
      const parcels = jsonLines((await importing("export --with-creation --collection parcels")).stdout);
      expect(parcels[0]).toMatchObject({ createdAt: "2020-09-13T12:26:40.001Z", token: 'shop "1",\tö' });
      expect(parcels[201]).toMatchObject({ createdAt: "1970-01-01T00:00:00.000Z", token: null });
      expect((await importing("history --json")).stdout).toBe("");

      const args = ["--open"];
      await using server = await RunningServer.startInProcess({ database: target.database, args });
      for (const path of ["/parcels/1", "/parcels/202", `/couriers/${courierId(7)}`]) {
        const url = server.url + path;
        const etag = (await fetch(url)).headers.get("etag") ?? "";
        expect(etag).toMatch(/^"[\w-]{22}"$/);
        expect((await fetch(url, { headers: { "If-None-Match": etag } })).status).toBe(304);
        if (path === "/parcels/202") {
          const change = () => sendJson(url, "PATCH", { sender: "changed" }, { "If-Match": etag });
          expect((await change()).status).toBe(200);
          expect((await change()).status).toBe(412);
        }
      }
      const [edit] = jsonLines((await importing("history --json")).stdout);
      expect(await importing(`history --undo ${edit?.run}`)).toMatchObject({ exitCode: 0 });
      expect((await importing("export --with-creation --collection parcels")).stdout).toBe(
        (await exporting("export --with-creation --collection parcels")).stdout,
      );
    });

for (const engine of engines)
  describe(engine.name, () => {
    test("a record without a valid time or creator is rejected with its line", async () => {
      await using place = await engine.createTestStore();
      await createStore(place.database);
      using folder = new TemporaryFolder();
      const command = commandsOf(place.database);
      const file = folder.file("a.ndjson");
      const time = '"createdAt":"2020-01-31T12:00:00.123Z"';
      const lines = [
        `{"id":1,"name":"a",${time},"token":"x"}`,
        '{"id":2,"name":"b"}',
        '{"id":3,"name":"c","createdAt":"2020-02-30T12:00:00.000Z"}',
        '{"id":4,"name":"d","createdAt":1580472000123}',
        '{"id":5,"name":"e","createdAt":"2248-12-31T00:00:00Z"}',
        '{"id":6,"name":"f","createdAt":"1969-12-31T00:00:00Z"}',
        `{"id":7,"name":"g",${time},"token":7}`,
        `{"id":8,"name":"h",${time},"token":"\\u0000"}`,
        `{"id":9,"name":"i",${time},"token":"${"x".repeat(2_601)}"}`,
        `{"id":10,"name":"j",${time}}`,
      ];
      writeFileSync(file, lines.join("\n"));
      expect(await command(`import --with-creation ${file}`)).toMatchObject({
        exitCode: 3,
        stderr: expect.stringContaining("2 created, 0 already stored, 8 rejected"),
      });
      const report = jsonLines(readFileSync(`${file}.rejected.ndjson`, "utf8"));
      expect(report.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
      expect(report[0]?.message).toBe(
        'The record has no valid creation: "createdAt" must be a date and time in UTC such as 2027-01-31T12:00:00.000Z, until 2248, but is missing.',
      );
      expect(report[6]?.message).toContain('"token" must be the name of a token');
      const kept = (await command("export --with-creation")).stdout;
      expect(kept).toBe(`${lines[0]}\n{"id":10,"name":"j",${time},"token":null}\n`);

      const csv = folder.file("a.csv");
      writeFileSync(csv, `id;Token;name; CREATEDAT\n11;"x;y";a;2020-01-31T12:00:00.123Z\n12;;b;\n`);
      const imported = await command(`import --with-creation ${csv}`);
      expect(imported).toMatchObject({ exitCode: 3, stderr: expect.not.stringContaining("ignored") });
      expect(readFileSync(`${csv}.rejected.csv`, "utf8")).toContain(`\n12;;b;;"line 3: `);
      expect((await command("get 11 --with-creation")).stdout).toContain(`${time},"token":"x;y"`);

      writeFileSync(csv, "id,name\n13,a\n");
      expect(await command(`import --with-creation ${csv}`)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining("the header has no column createdAt: export the file with"),
      });
      writeFileSync(csv, "id,name,createdAt,CreatedAt\n13,a,,\n");
      expect((await command(`import --with-creation ${csv}`)).stderr).toContain("the column createdAt twice");
    });

    test("what is stored keeps its creation, and a dry run stores no creator", async () => {
      await using place = await engine.createTestStore();
      await createStore(place.database);
      const command = commandsOf(place.database);
      const record = (name: string, year: number, token: string) =>
        `{"id":1,"name":"${name}","createdAt":"${year}-01-01T00:00:00.000Z","token":"${token}"}\n`;
      const creators = () =>
        withStore(place.database, "existing", async (store) => {
          await using sql = await store.openSql();
          return (await sql.query<{ name: string }>("SELECT name FROM creators")).map(({ name }) => name);
        });
      expect(
        (await command("import - --with-creation --dry-run", record("a", 2020, "one"))).stderr +
          (await creators()).join(),
      ).not.toContain("one");
      await command("import - --with-creation", record("a", 2020, "one"));
      expect((await command("import - --with-creation", record("a", 2021, "one"))).stderr).toContain(
        "0 created, 1 already stored",
      );
      await command("import - --with-creation --update", record("b", 2022, "one"));
      expect((await command("export --with-creation")).stdout).toBe(record("b", 2020, "one"));
      expect(await creators()).toEqual(["one"]);
    });
  });
