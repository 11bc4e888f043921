// plantstore import on every engine: results, rejected records and interruptions.

import { describe, expect, spyOn, test } from "bun:test";
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { plantStoreSource } from "../../../src/openapi/default-contract.ts";
import { ImportJob } from "../../../src/transfer/import-job.ts";
import { progressText } from "../../../src/transfer/progress.ts";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { jsonLines } from "../../support/output.ts";
import { createStore, plantstore, runCommand, runIn, TemporaryFolder } from "../../support/server.ts";
import { StoreFolder } from "../../support/store-folder.ts";
import { runSql } from "../../support/stored-plants.ts";

const windows1252 =
  'the file is probably Windows-1252: convert it with "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW", and import NEW';

for (const engine of engines) {
  describe(engine.name, () => {
    test("a record may have the bytes of a request's body, and no more", async () => {
      await using store = await StoreFolder.create([], engine);
      const largest = (id: bigint, bytes: number) =>
        plantJson(id, "x".repeat(bytes - plantJson(id, "").length));
      const lines = [largest(1n, 2 ** 20), largest(2n, 2 ** 20 + 1), largest(3n, 200)];
      const file = store.write("large.ndjson", lines.join("\n"));
      expect(await store.run("import", file, "--body-bytes-max", "199")).toMatchObject({
        stderr: expect.stringContaining("0 created, 0 already stored, 3 rejected"),
      });
      expect(await store.run("import", file)).toMatchObject({
        exitCode: 3,
        stderr: expect.stringContaining("2 created, 0 already stored, 1 rejected"),
      });
      const reports = jsonLines(readFileSync(`${file}.rejected.2.ndjson`, "utf8"));
      expect(reports.map(({ line, error }) => [line, error])).toEqual([[2, 41300]]);
    });

    test("rejected lines are reported with number, error and text, and the others are created", async () => {
      await using store = await StoreFolder.create([], engine);
      const bad = [
        "nope",
        '{"id": 1.5, "name": "x"}',
        '{"id": 1, "name": "other"}',
        '{"id": 3, "name": "\\u0000"}',
      ];
      const lines = [
        plantJson(1n, "Monstera"),
        bad[0],
        "",
        `${bad[1]}\r`,
        plantJson(2n, "Ficus"),
        bad[2],
        bad[3],
      ];
      // The last line has no line feed, and one is not UTF-8.
      const file = store.write(
        "mixed.ndjson",
        Buffer.concat([
          Buffer.from(lines.join("\n")),
          Buffer.from('\n{"id": 9, "name": "caf\xe9"}', "latin1"),
        ]),
      );

      const { exitCode, stderr } = await store.run("import", file);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 3,
        stderr: `2 created, 0 already stored, 5 rejected; see ${file}.rejected.ndjson; ${windows1252}\n`,
      });
      // It has what may be private, and the file may be anybody's.
      expect(statSync(`${file}.rejected.ndjson`).mode & 0o777).toBe(0o600);
      const reports = jsonLines(readFileSync(`${file}.rejected.ndjson`, "utf8"));
      // As in an editor: the line of the file.
      expect([reports[0].message, reports[1].message, reports[4].message]).toEqual([
        'The record is not JSON: line 2, column 1: expected a value, found "n".',
        'The record is not a NewPlant: "id" must be an integer (int64), but is the number 1.5.',
        "The record is not UTF-8: invalid bytes at line 8, column 23; encode the JSON in UTF-8.",
      ]);
      expect(reports.map(({ line, error, text }) => [line, error, text])).toEqual([
        [2, 40001, bad[0]],
        [4, 40002, bad[1]],
        [6, 40009, bad[2]],
        [7, 40003, bad[3]],
        [8, 40001, expect.stringContaining('"caf')],
      ]);
      expect(await store.exported()).toBe(`${lines[0]}\n${lines[4]}\n`);
    });
  });
}

test.each<[string, string | Buffer, boolean]>([
  ["of letters with accents", Buffer.from("id,name\n1,Foug\xe8re\n2,Ch\xeane\n", "latin1"), true],
  ["in the header, which ends the import", Buffer.from("id,name,cat\xe9gorie\n1,a,b\n", "latin1"), true],
  ["of letters in a row, as in Greek", Buffer.from("id,name\n1,\xd6\xdd\xeb\xef\n", "latin1"), false],
  [
    "beside others in UTF-8",
    Buffer.concat([Buffer.from("id,name\n1,Fougère\n"), Buffer.from("2,Ch\xeane\n", "latin1")]),
    false,
  ],
  ["but there are none", "id,name\n1,Fougère\n", false],
])("the likely encoding of bytes that are not UTF-8 is said once: %s", async (_, content, isLikely) => {
  await using store = await StoreFolder.create();
  const file = store.write("plants.csv", content);
  for (const flags of [["--dry-run"], []]) {
    const { stdout, stderr } = await store.run("import", file, ...flags);
    expect((stdout + stderr).split("WINDOWS-1252").length - 1).toBe(isLikely ? 1 : 0);
    if (isLikely) expect(stdout + stderr).toEndWith(`; ${windows1252}\n`);
  }
});

test("--quiet prints nothing but what was rejected", async () => {
  await using store = await StoreFolder.create();
  const command = (content: string) => store.run("import", store.write("plants.csv", content), "--quiet");
  expect(await command("id,name\n1,Rosa\n")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  expect(await command("id,name\n1,Hoya\n")).toMatchObject({
    exitCode: 3,
    stderr: `0 created, 0 already stored, 1 rejected; see ${store.file("plants.csv")}.rejected.csv\n`,
  });
});

test("standard input is imported like a file, and a missing or unreadable file is an error", async () => {
  await using store = await StoreFolder.create();
  const command = [plantstore, "import", "-", "--database", store.database];
  const { exitCode, stderr } = await runIn(
    store.folder.path,
    command,
    `${plantJson(1n, "Monstera")}\nnope\n`,
  );
  expect(stderr).toBe("1 created, 0 already stored, 1 rejected; see stdin.rejected.ndjson\n");
  expect(exitCode).toBe(3);
  expect(existsSync(store.file("stdin.rejected.ndjson"))).toBe(true);
  const none = await store.run("import", store.file("none.ndjson"));
  expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("there is no file") });
  const loop = store.file("loop.ndjson");
  symlinkSync(loop, loop);
  const unreadable = await store.run("import", loop);
  expect(unreadable).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^plantstore: .*loop\.ndjson is not readable \(ELOOP\); [^\n]*\n$/),
  });
});

test("an import that fails says what it has done, and names its report", async () => {
  await using store = await StoreFolder.create([plantJson(1n, "Rosa")]);
  const file = store.write("plants.csv", 'id,name\n1,Rosa canina\nx,Hoya\n2,"Ficus\n');
  expect(await store.run("import", file, "--update")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /^plantstore: the record in line 4 does not end: .*; 0 created, 1 replaced, 0 already stored, 1 rejected so far; "plantstore history --undo .*" .*; see .*plants\.csv\.rejected\.csv\n$/,
    ),
  });
});

test("an import that cannot write for a minute says why", async () => {
  await using store = await StoreFolder.create();
  await runSql(
    store.database,
    "CREATE TRIGGER no BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  let now = performance.now();
  using _ = spyOn(performance, "now").mockImplementation(() => (now += 10_000));
  const result = await store.run("import", store.write("plants.ndjson", plantJson(1n, "Rosa")));
  expect(result).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(
      "the store could not be written for a minute: no room (SQLITE_CONSTRAINT_TRIGGER); 0 created, 0 already stored, 0 rejected so far;",
    ),
  });
});

/** As it is without a spy. */
const { run } = ImportJob.prototype;

test.each(engines)("$name: an import of what was read by a former contract ends at once", async (engine) => {
  await using place = await engine.createTestStore();
  using folder = new TemporaryFolder();
  await createStore(place.database);
  const [file, contract] = [folder.file("plants.ndjson"), folder.file("other.yaml")];
  writeFileSync(file, plantJson(1n, "Rosa"));
  writeFileSync(contract, plantStoreSource.text.replace('"tag":{', '"soil":{"type":"string"},"tag":{'));
  using _ = spyOn(ImportJob.prototype, "run").mockImplementation(async function (this: ImportJob, ...given) {
    const migrated = await runCommand(["migrate", "--contract", contract, "--database", place.database]);
    expect(migrated.stderr).toContain('adds "soil"');
    await run.apply(this, given);
  });
  const { exitCode, stderr } = await runCommand(["import", file, "--database", place.database]);
  expect(stderr).toBe("plantstore: the contract of the store has changed; try again\n");
  expect(exitCode).toBe(1);
});

test("progress is plants, rate, percentage and remaining time", () => {
  expect(progressText(1_200_000, 0.4, 4)).toBe("1,200,000 plants, 300,000 a second, 40 %, 6 s left");
  expect(progressText(10, undefined, 2)).toBe("10 plants, 5 a second");
});
