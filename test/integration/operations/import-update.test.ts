// plantstore import --update and its dry run, and rejected records of CSV, on every engine.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { listEdits } from "../../../src/operations/edits.ts";
import { plantStore } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { createStore, plantstore, runCommand, TemporaryFolder, withStore } from "../../support/server.ts";
import { exported, storeLines } from "../../support/stored-plants.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("import --update replaces what differs, in one run of the history that can be undone", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      const { database } = place;
      const stored = [
        '{"id":-1,"name":"same","tag":""}',
        '{"id":1,"name":"Rosa"}',
        '{"id":2,"name":"Ficus","tag":"tree"}',
      ];
      await storeLines(database, stored);
      const before = await exported(database);
      const file = folder.file("corrected.csv");
      // The second record with the id 1 is the one that stays.
      const records = [
        '-1,same,""',
        "1,Rosa canina,",
        "2,Ficus,",
        "3,new,",
        "x,wrong,",
        "1,Rosa rugosa,wild",
        "3,newer,",
      ];
      writeFileSync(file, ["id,name,tag", ...records, ""].join("\n"));
      const command = (...args: string[]) => runCommand(["import", file, ...args, "--database", database]);

      const dry = await command("--update", "--dry-run");
      expect(dry).toEqual({
        exitCode: 3,
        stderr: "",
        stdout: `line 3, plant 1: name "Rosa" → "Rosa canina"
line 4, plant 2: tag "tree" → none
line 7, plant 1: name "Rosa canina" → "Rosa rugosa", tag none → "wild"
and 1 more
dry run: 1 created, 4 replaced, 1 already stored, 1 rejected
`,
      });
      expect(await exported(database)).toBe(before);
      expect(existsSync(`${file}.rejected.csv`)).toBe(false);
      expect((await command("--dry-run")).stdout).toBe("dry run: 1 created, 1 already stored, 5 rejected\n");

      const { exitCode, stderr } = await command("--update");
      expect(exitCode).toBe(3);
      const [, runId = ""] =
        /^1 created, 4 replaced, 1 already stored, 1 rejected; "plantstore history --undo (\w+)" brings back/.exec(
          stderr,
        ) ?? [];
      expect(runId).not.toBe("");
      const after = await exported(database);
      expect(after).toBe(
        '{"id":-1,"name":"same","tag":""}\n{"id":1,"name":"Rosa rugosa","tag":"wild"}\n' +
          '{"id":2,"name":"Ficus"}\n{"id":3,"name":"newer"}\n',
      );
      const again = await command("--update");
      expect(again.exitCode).toBe(3);
      expect(await exported(database)).toBe(after);

      await runCommand(["update", "2", "--name", "Ficus lyrata", "--database", database]);
      const undo = await runCommand(["history", "--undo", runId, "--json", "--database", database]);
      expect(undo.exitCode).toBe(3);
      expect(undo.stderr).toContain("Left: 2.");
      // The plant that the import created stays, as it was created.
      const undone = before.replace("Ficus", "Ficus lyrata").replace(',"tag":"tree"', "");
      expect(await exported(database)).toBe(`${undone}{"id":3,"name":"new"}\n`);
    });

    test("a killed import has recorded what it replaced, no more and no less, and continues when it is run again", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      const { database } = place;
      const lines = (tag: string) =>
        Array.from({ length: 8_000 }, (_, id) => `{"id":${id},"name":"Rosa","tag":"${tag}"}`);
      await storeLines(database, lines("tpyo"));
      const file = folder.file("plants.ndjson");
      writeFileSync(file, lines("typo").join("\n"));
      const args = ["import", file, "--update", "--database", database];
      await withStore(database, "existing", async (store) => {
        await using sql = await store.openSql();
        const child = Bun.spawn([plantstore, ...args], { stdin: "ignore", stderr: "ignore" });
        await eventually(
          "some edits",
          async () => (await listEdits(plantStore, sql, {}, 1)).entries.length > 0,
        );
        child.kill("SIGKILL");
        await child.exited;
        const count = async (query: string) => Number((await sql.query<{ n: bigint }>(query))[0]?.n);
        const replaced = await count("SELECT count(*) AS n FROM plants WHERE tag = 'typo'");
        // All of them, where the machine is slow to kill it.
        expect(replaced).toBeWithin(1, 8_001);
        expect(await count("SELECT count(DISTINCT plant_id) AS n FROM edits")).toBe(replaced);
        expect(await count("SELECT count(*) AS n FROM edits")).toBe(replaced);
      });
      expect((await runCommand(args)).exitCode).toBe(0);
      expect(await exported(database)).toBe(`${lines("typo").join("\n")}\n`);
    });

    test("rejected records of CSV come back as they came, and are imported when they are corrected", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      const { database } = place;
      await createStore(database);
      const file = folder.file("delivery.csv");
      const rejected = `${file}.rejected.csv`;
      writeFileSync(
        file,
        '\ufeffTAG;ID;Name;Price\r\ntree;1;Ficus;3\r\n;twelve;"Aloe ""vera""";4\r\n"a\nb";9.0E+15;Hoya;"5;-"\r\n;4;x"y;6\r\n;5;Rosa\r\n',
      );
      const command = (path: string) => runCommand(["import", path, "--database", database]);
      expect((await command(file)).stderr).toBe(
        `1 created, 0 already stored, 4 rejected; see ${rejected}; ignored the column "Price"\n`,
      );
      const lines = readFileSync(rejected, "utf8");
      expect(lines).toStartWith(
        'TAG;ID;Name;Price;reason\n;twelve;"Aloe ""vera""";4;"line 3: 40002 The record',
      );
      expect(lines).toContain('\n"a\nb";9.0E+15;Hoya;"5;-";"line 4: 40002 ');
      expect(lines).toContain('\n;4;x"y;6;');
      expect(lines).toContain("\n;5;Rosa;;");

      // Corrected in an editor.
      const corrected = [
        ["twelve", "2"],
        [';x"y;', ';"x""y";'],
        [";5;Rosa;;", ";5;Rosa;7;"],
        ["9.0E+15", "9007199254740993"],
      ] as const;
      writeFileSync(
        rejected,
        corrected.reduce((text, [from, to]) => text.replace(from, to), lines),
      );
      expect((await command(rejected)).stderr).toBe(
        '4 created, 0 already stored, 0 rejected; ignored the columns "Price", "reason"\n',
      );
      expect(await exported(database)).toBe(
        '{"id":1,"name":"Ficus","tag":"tree"}\n{"id":2,"name":"Aloe \\"vera\\""}\n{"id":4,"name":"x\\"y"}\n' +
          '{"id":5,"name":"Rosa"}\n{"id":9007199254740993,"name":"Hoya","tag":"a\\nb"}\n',
      );
    });

    test("a record that is not UTF-8 keeps its bytes in the report, and is rejected again", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      await createStore(place.database);
      const file = folder.file("latin1.csv");
      writeFileSync(file, Buffer.from("id,name\n1,caf\xe9\n2,b\n", "latin1"));
      const command = (path: string) => runCommand(["import", path, "--database", place.database]);
      expect((await command(file)).exitCode).toBe(3);
      const report = readFileSync(`${file}.rejected.csv`);
      expect(report.toString("latin1")).toStartWith("id,name,reason\n1,caf\xe9,");
      expect((await command(`${file}.rejected.csv`)).stderr).toContain(
        "0 created, 0 already stored, 1 rejected",
      );
      expect(await exported(place.database)).toBe('{"id":2,"name":"b"}\n');
    });

    test("a column that is not there changes nothing, and one that is not read is named", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      const { database } = place;
      await storeLines(database, [
        '{"id":1,"name":"Rosa","tag":"wild"}',
        '{"id":2,"name":"Ficus","tag":"tree"}',
      ]);
      const file = folder.file("names.csv");
      writeFileSync(file, "id,name,tags\n1,Rosa,x\n2,Ficus lyrata,x\n3,new,x\n");
      const command = (...args: string[]) =>
        runCommand(["import", file, "--update", ...args, "--database", database]);
      expect((await command("--dry-run")).stdout).toBe(
        'line 3, plant 2: name "Ficus" → "Ficus lyrata"\n' +
          'dry run: 1 created, 1 replaced, 1 already stored, 0 rejected; ignored the column "tags"\n',
      );
      expect((await command()).stderr).toMatch(/^1 created, 1 replaced, .*; ignored the column "tags"\n$/);
      expect(await exported(database)).toBe(
        '{"id":1,"name":"Rosa","tag":"wild"}\n{"id":2,"name":"Ficus lyrata","tag":"tree"}\n{"id":3,"name":"new"}\n',
      );
    });

    test("a file with a header and no record says so", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      await createStore(place.database);
      const file = folder.file("empty.csv");
      writeFileSync(file, "id,name,tag\r");
      expect(await runCommand(["import", file, "--database", place.database])).toMatchObject({
        exitCode: 0,
        stderr: "0 created, 0 already stored, 0 rejected; the file has no record\n",
      });
    });

    test("a dry run counts an id that comes again in a later batch as the import does", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      const { database } = place;
      await createStore(database);
      const file = folder.file("twice.ndjson");
      const lines = Array.from({ length: 20_001 }, (_, id) => `{"id":${id},"name":"a"}`);
      writeFileSync(file, [...lines, lines[0], '{"id":1,"name":"other"}'].join("\n"));
      const counts = "20,001 created, 1 already stored, 1 rejected";
      const command = (...args: string[]) => runCommand(["import", file, ...args, "--database", database]);
      expect((await command("--dry-run")).stdout).toBe(`dry run: ${counts}\n`);
      expect((await command()).stderr).toStartWith(counts);
    });
  });
}
