// plantstore import --update and its dry run on every engine, and rejected records of CSV.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { listEdits } from "../../../src/plants/edits.ts";
import { plantStore } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { plantstore, withStore } from "../../support/server.ts";
import { StoreFolder } from "../../support/store-folder.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("import --update replaces what differs, in one run of the history that can be undone", async () => {
      const stored = [
        '{"id":-1,"name":"same","tag":""}',
        '{"id":1,"name":"Rosa"}',
        '{"id":2,"name":"Ficus","tag":"tree"}',
      ];
      await using store = await StoreFolder.create(stored, engine);
      const before = await store.exported();
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
      const file = store.write("corrected.csv", ["id,name,tag", ...records, ""].join("\n"));
      const command = (...args: string[]) => store.run("import", file, ...args);

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
      expect(await store.exported()).toBe(before);
      expect(existsSync(`${file}.rejected.csv`)).toBe(false);
      expect((await command("--dry-run")).stdout).toBe("dry run: 1 created, 1 already stored, 5 rejected\n");

      const { exitCode, stderr } = await command("--update");
      expect(exitCode).toBe(3);
      const runOf = (text: string) =>
        /"plantstore history --undo (\w+) --database [^"]+" brings back/.exec(text)?.[1] ?? "";
      const runId = runOf(stderr);
      expect(stderr).toStartWith("1 created, 4 replaced, 1 already stored, 1 rejected; ");
      expect(runId).not.toBe("");
      const after = await store.exported();
      expect(after).toBe(
        '{"id":-1,"name":"same","tag":""}\n{"id":1,"name":"Rosa rugosa","tag":"wild"}\n' +
          '{"id":2,"name":"Ficus"}\n{"id":3,"name":"newer"}\n',
      );
      const again = await command("--update");
      expect(again.exitCode).toBe(3);
      expect(await store.exported()).toBe(after);
      // It has replaced the plants of two records again, so that it is undone first.
      const undoAgain = await store.run("history", "--undo", runOf(again.stderr));
      expect(undoAgain.stderr).toContain(" 0 changed since");
      expect(await store.exported()).toBe(after);

      await store.run("update", "2", "--name", "Ficus lyrata");
      const undo = await store.run("history", "--undo", runId, "--json");
      expect(undo.exitCode).toBe(3);
      expect(undo.stderr).toContain("Left: 2.");
      // The plant that the import created stays, as it was created.
      const undone = before.replace("Ficus", "Ficus lyrata").replace(',"tag":"tree"', "");
      expect(await store.exported()).toBe(`${undone}{"id":3,"name":"new"}\n`);
    });

    test("a killed import has recorded what it replaced, no more and no less, and continues when it is run again", async () => {
      const lines = (tag: string) =>
        Array.from({ length: 8_000 }, (_, id) => `{"id":${id},"name":"Rosa","tag":"${tag}"}`);
      await using store = await StoreFolder.create(lines("tpyo"), engine);
      const args = ["import", store.write("plants.ndjson", lines("typo").join("\n")), "--update"];
      await withStore(store.database, "existing", async (opened) => {
        await using sql = await opened.openSql();
        const command = [plantstore, ...args, "--database", store.database];
        const child = Bun.spawn(command, { stdin: "ignore", stderr: "ignore" });
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
      expect((await store.run(...args)).exitCode).toBe(0);
      expect(await store.exported()).toBe(`${lines("typo").join("\n")}\n`);
    });

    test("a column that is not there changes nothing, and one that is not read is named", async () => {
      const stored = ['{"id":1,"name":"Rosa","tag":"wild"}', '{"id":2,"name":"Ficus","tag":"tree"}'];
      await using store = await StoreFolder.create(stored, engine);
      const file = store.write("names.csv", "id,name,tags\n1,Rosa,x\n2,Ficus lyrata,x\n3,new,x\n");
      const command = (...args: string[]) => store.run("import", file, "--update", ...args);
      expect((await command("--dry-run")).stdout).toBe(
        'line 3, plant 2: name "Ficus" → "Ficus lyrata"\n' +
          'dry run: 1 created, 1 replaced, 1 already stored, 0 rejected; warning: ignored the column "tags"\n',
      );
      expect((await command()).stderr).toMatch(
        /^1 created, 1 replaced, .*; warning: ignored the column "tags"\n$/,
      );
      expect(await store.exported()).toBe(
        '{"id":1,"name":"Rosa","tag":"wild"}\n{"id":2,"name":"Ficus lyrata","tag":"tree"}\n{"id":3,"name":"new"}\n',
      );
    });

    test("a dry run counts an id that comes again in a later batch as the import does", async () => {
      await using store = await StoreFolder.create([], engine);
      const lines = Array.from({ length: 20_001 }, (_, id) => `{"id":${id},"name":"a"}`);
      const all = [...lines, lines[0], '{"id":1,"name":"other"}'];
      const file = store.write("twice.ndjson", all.join("\n"));
      const counts = "20,001 created, 1 already stored, 1 rejected";
      const command = (...args: string[]) => store.run("import", file, ...args);
      expect((await command("--dry-run")).stdout).toBe(`dry run: ${counts}\n`);
      expect((await command()).stderr).toStartWith(counts);
    });
  });
}

test("rejected records of CSV come back as they came, and are imported when they are corrected", async () => {
  await using store = await StoreFolder.create();
  const file = store.write(
    "delivery.csv",
    '\ufeffTAG;ID;Name;Price\r\ntree;1;Ficus;3\r\n;twelve;"Aloe ""vera""";4\r\n"a\nb";9.0E+15;Hoya;"5;-"\r\n;4;x"y;6\r\n;5;Rosa\r\n',
  );
  const rejected = `${file}.rejected.csv`;
  expect((await store.run("import", file)).stderr).toBe(
    `1 created, 0 already stored, 4 rejected; see ${rejected}; warning: ignored the column "Price"\n`,
  );
  const lines = readFileSync(rejected, "utf8");
  expect(lines).toStartWith('TAG;ID;Name;Price;reason\n;twelve;"Aloe ""vera""";4;"line 3: 40002 The record');
  expect(lines).toContain('\n"a\nb";9.0E+15;Hoya;"5;-";"line 4: 40002 ');
  expect(lines).toContain('\n;4;x"y;6;');
  expect(lines).toContain("\n;5;Rosa;;");

  // Imported again, a report has one reason for each record; a record that was filled up is accepted.
  expect((await store.run("import", rejected)).stderr).toStartWith("1 created, 0 already stored, 3 rejected");
  const withoutLines = (text: string) => text.replace(/\n;5;Rosa.*/, "").replaceAll(/line \d+/g, "line");
  expect(withoutLines(readFileSync(`${rejected}.rejected.csv`, "utf8"))).toBe(withoutLines(lines));

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
  expect((await store.run("import", rejected)).stderr).toBe(
    '3 created, 1 already stored, 0 rejected; warning: ignored the columns "Price", "reason"\n',
  );
  expect(await store.exported()).toBe(
    '{"id":1,"name":"Ficus","tag":"tree"}\n{"id":2,"name":"Aloe \\"vera\\""}\n{"id":4,"name":"x\\"y"}\n' +
      '{"id":5,"name":"Rosa"}\n{"id":9007199254740993,"name":"Hoya","tag":"a\\nb"}\n',
  );
});

test("a record that is not UTF-8 keeps its bytes in the report, and is rejected again", async () => {
  await using store = await StoreFolder.create();
  const file = store.write("latin1.csv", Buffer.from("id,name\n1,caf\xe9\n2,b\n", "latin1"));
  expect((await store.run("import", file)).exitCode).toBe(3);
  const report = readFileSync(`${file}.rejected.csv`);
  expect(report.toString("latin1")).toStartWith("id,name,reason\n1,caf\xe9,");
  expect((await store.run("import", `${file}.rejected.csv`)).stderr).toContain(
    "0 created, 0 already stored, 1 rejected",
  );
  expect(readFileSync(`${file}.rejected.csv.rejected.csv`)).toEqual(report);
  expect(await store.exported()).toBe('{"id":2,"name":"b"}\n');
});

test("a file with a header and no record says so", async () => {
  await using store = await StoreFolder.create();
  expect(await store.run("import", store.write("empty.csv", "id,name,tag\r"))).toMatchObject({
    exitCode: 0,
    stderr: "0 created, 0 already stored, 0 rejected; the file has no record\n",
  });
});
