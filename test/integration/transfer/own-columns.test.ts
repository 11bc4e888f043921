// Imports of files whose columns have names that are easily taken for others: those of reports, of
// exports with creations, and of contracts with names that differ in little.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

type Engine = (typeof engines)[number];

/** A store of things with a schema of their body, and a folder for files. */
async function storeOf(engine: Engine, schema: object) {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const source = { text: JSON.stringify(thingsDocument({ body: schema })) };
  const { database } = resources.use(await engine.createTestStore(source));
  const write = (name: string, content: string) => {
    writeFileSync(folder.file(name), content);
    return folder.file(name);
  };
  const run = (...args: string[]) => runCommand([...args, "--database", database]);
  expect((await run("migrate", "--contract", write("things.json", source.text))).exitCode).toBe(0);
  return {
    database,
    write,
    run,
    exported: async (...args: string[]) => (await run("export", ...args)).stdout,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const schemaOf = (id: object, names: readonly string[], more: object = {}) => ({
  type: "object",
  required: ["id"],
  properties: { id, ...Object.fromEntries(names.map((name) => [name, { type: "string" }])) },
  ...more,
});
const integer = { type: "integer" };
const text = { type: "string" };

/** Whatever the engine, files are read alike. */
const [engine] = engines as [Engine];
describe("the columns of files", () => {
  test("the column of a report is no field's, so that a corrected report is imported", async () => {
    await using store = await storeOf(engine, schemaOf(integer, ["Reason", "name"]));
    const file = store.write("a.csv", "id,reason,name\n1,own,a\nx,own too,b\n");
    expect((await store.run("import", file)).exitCode).toBe(3);
    const report = readFileSync(`${file}.rejected.csv`, "utf8");
    expect(report).toStartWith("id,reason,name,rejection reason\nx,own too,b,");
    const corrected = store.write("b.csv", report.replace("\nx,", "\n2,"));
    expect(await store.run("import", corrected)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("1 created, 0 already stored, 0 rejected; warning: ignored the column"),
    });
    const bare = store.write("c.csv", "id,name\n3,c\ny,d\n");
    await store.run("import", bare);
    const again = readFileSync(`${bare}.rejected.csv`, "utf8").replace("\ny,", "\n4,");
    await store.run("import", store.write("d.csv", again));
    expect(await store.exported()).toBe(
      [
        '{"id":1,"Reason":"own","name":"a"}',
        '{"id":2,"Reason":"own too","name":"b"}',
        '{"id":3,"name":"c"}',
        '{"id":4,"name":"d"}\n',
      ].join("\n"),
    );
  });

  test("exports that are joined are imported, and so is a text id that is the name of its column", async () => {
    await using store = await storeOf(engine, schemaOf(text, ["name"]));
    await store.run("import", store.write("a.ndjson", '{"id":"id","name":"name"}\n{"id":"x"}\n'));
    const csv = await store.exported("--format", "csv");
    expect(csv).toBe('id,name\n"id",name\nx,\n');
    await using other = await storeOf(engine, schemaOf(text, ["name"]));
    expect(
      await other.run("import", other.write("joined.csv", `${csv}${csv}id,name\ny,Ficus\n`)),
    ).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("3 created, 2 already stored, 0 rejected"),
    });
    expect(await other.exported()).toBe(`${await store.exported()}{"id":"y","name":"Ficus"}\n`);
  });

  test("the content decides on the format before the name, on the command line and in the console", async () => {
    await using store = await storeOf(engine, schemaOf(integer, ["name"]));
    const csv = (id: number) => `id,name\n${id},a\n`;
    for (const [index, name] of ["w.json", "w.dat", "w.ndjson"].entries())
      expect((await store.run("import", store.write(name, csv(index)))).stderr).toContain("1 created");
    const cut = store.write("cut.ndjson", 'ame":"a","x":[]}\n{"id":9}\n');
    expect((await store.run("import", cut)).stderr).toContain("1 created, 0 already stored, 1 rejected");
    await using server = await RunningServer.startInProcess({ database: store.database, args: ["--open"] });
    const url = `${await server.adminUrl()}/console/api/import?format=ndjson&update=off`;
    const answer = await fetch(url, { method: "POST", body: csv(7) });
    expect(await answer.json()).toMatchObject({ created: 1, rejected: 0, format: "csv" });
  });
});

for (const engine of engines)
  describe(engine.name, () => {
    test("columns that differ in case and spaces only are kept apart", async () => {
      const schema = schemaOf(integer, ["name", "Name", "tag "]);
      await using store = await storeOf(engine, schema);
      const lines = '{"id":1,"name":"a","Name":"b","tag ":"c"}\n';
      await store.run("import", store.write("a.ndjson", lines));
      await using other = await storeOf(engine, schema);
      const csv = other.write("a.csv", await store.exported("--format", "csv"));
      expect((await other.run("import", csv)).stderr).toContain("1 created, 0 already stored, 0 rejected");
      expect(await other.exported()).toBe(lines);
      const folded = other.write("b.csv", "ID,NAME,Tag\n2,a,b\n");
      expect((await other.run("import", folded)).stderr).toContain('ignored the column "NAME"');
      expect(await other.exported()).toBe(`${lines}{"id":2,"tag ":"b"}\n`);
    });

    test.each(["csv", "ndjson"])(
      "an export in %s with creations is imported, also where the schema is closed",
      async (format) => {
        const schema = schemaOf(integer, ["Token", "CREATEDAT"], { additionalProperties: false });
        await using store = await storeOf(engine, schema);
        const lines = '{"id":1,"Token":"a"}\n{"id":2,"CREATEDAT":"b"}\n';
        await store.run("import", store.write("a.ndjson", lines));
        const file = await store.exported("--format", format, "--with-creation");
        expect(file).toContain("store.token");
        await using other = await storeOf(engine, schema);
        expect(await other.run("import", other.write(`a.${format}`, file))).toMatchObject({
          exitCode: 0,
          stderr: expect.stringContaining("2 created, 0 already stored, 0 rejected"),
        });
        expect(await other.exported()).toBe(lines);
        const others = other.write("b.ndjson", '{"id":3,"token":"x"}\n');
        expect((await other.run("import", others)).exitCode).toBe(3);
      },
    );
  });
