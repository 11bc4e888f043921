// plantstore import on every engine: results, rejected records and interruptions.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { progressText } from "../../../src/operations/progress.ts";
import { commandError } from "../../support/commands.ts";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import {
  createStore,
  plantstore,
  RunningServer,
  runCommand,
  runIn,
  TemporaryFolder,
} from "../../support/server.ts";
import { csvLine, exported } from "../../support/stored-plants.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("rejected lines are reported with number, error and text, and the others are created", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      await createStore(place.database);
      const file = folder.file("mixed.ndjson");
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
      writeFileSync(
        file,
        Buffer.concat([
          Buffer.from(lines.join("\n")),
          Buffer.from('\n{"id": 9, "name": "caf\xe9"}', "latin1"),
        ]),
      );

      const { exitCode, stderr } = await runCommand(["import", file, "--database", place.database]);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 3,
        stderr: `2 created, 0 already stored, 5 rejected; see ${file}.rejected.ndjson\n`,
      });
      const reports = readFileSync(`${file}.rejected.ndjson`, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(reports.map(({ line, error, text }) => [line, error, text])).toEqual([
        [2, 40001, bad[0]],
        [4, 40002, bad[1]],
        [6, 40009, bad[2]],
        [7, 40003, bad[3]],
        [8, 40001, expect.stringContaining('"caf')],
      ]);
      expect(await exported(place.database)).toBe(`${lines[0]}\n${lines[4]}\n`);

      // After the file is corrected, the report of the first import is removed.
      writeFileSync(file, [lines[0], lines[4]].join("\n"));
      expect((await runCommand(["import", file, "--quiet", "--database", place.database])).stderr).toBe("");
      expect(existsSync(`${file}.rejected.ndjson`)).toBe(false);
    });

    test("a killed import continues when it is run again, while a server creates plants too", async () => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      await using server = await RunningServer.startInProcess(place);
      const token = await server.createToken();
      const file = folder.file("many.ndjson");
      const count = 60_000;
      writeFileSync(
        file,
        Array.from({ length: count }, (_, id) => `${plantJson(BigInt(id), `plant ${id}`)}\n`).join(""),
      );

      const broken = Bun.spawn([plantstore, "import", file, "--quiet", "--database", place.database], {
        stderr: "ignore",
      });
      let ownId = -1n;
      while (broken.exitCode === null && ownId > -40n) {
        expect((await post({ url: server.url, token }, plantJson(ownId, "beside"))).status).toBe(200);
        ownId--;
      }
      broken.kill("SIGKILL");
      await broken.exited;

      const { exitCode, stderr } = await runCommand(["import", file, "--database", place.database]);
      expect(exitCode).toBe(0);
      const [, created = "", unchanged = ""] =
        /^([\d,]+) created, ([\d,]+) already stored, 0 rejected\n$/.exec(stderr) ?? [];
      const numberOf = (text: string) => Number(text.replaceAll(",", ""));
      expect(numberOf(created) + numberOf(unchanged)).toBe(count);
      const plants = (await exported(place.database)).trimEnd().split("\n");
      expect(plants.length).toBe(count - 1 - Number(ownId));
    });
  });
}

test("standard input is imported like a file, and a missing file is an error", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  const command = [plantstore, "import", "-", "--database", database];
  const { exitCode, stderr } = await runIn(folder.path, command, `${plantJson(1n, "Monstera")}\nnope\n`);
  expect(stderr).toBe("1 created, 0 already stored, 1 rejected; see stdin.rejected.ndjson\n");
  expect(exitCode).toBe(3);
  expect(existsSync(folder.file("stdin.rejected.ndjson"))).toBe(true);
  const none = await commandError(["import", folder.file("none.ndjson"), "--database", database]);
  expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("there is no file") });
});

test("progress is plants, rate, percentage and remaining time", () => {
  expect(progressText(1_200_000, 0.4, 4)).toBe("1,200,000 plants, 300,000 a second, 40 %, 6 s left");
  expect(progressText(10, undefined, 2)).toBe("10 plants, 5 a second");
});

test.each([
  ["semicolon", ";"],
  ["tab", "\t"],
  ["|", "|"],
  [",", ","],
])("CSV with --delimiter %s goes in and comes out again", async (value, delimiter) => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  const file = folder.file("plants.csv");
  const rows = [
    ["id", "name", "tag"],
    ["-7", `"a${delimiter}b"`, ""],
    ["1", '"say ""hi"""', "plain"],
  ];
  const csv = rows.map((row) => `${csvLine(row, delimiter)}\n`).join("");
  // As a spreadsheet exports it.
  writeFileSync(file, `\ufeff${csv.replace("id", "ID").replace("name", "Name").replaceAll("\n", "\r\n")}`);
  if (delimiter !== ",") {
    const refused = await commandError(["import", file, "--database", database]);
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("the header has no column id"),
    });
  }
  const imported = await runCommand(["import", file, "--delimiter", value, "--database", database]);
  expect(imported).toEqual({ exitCode: 0, stdout: "", stderr: "2 created, 0 already stored, 0 rejected\n" });
  const exported = await runCommand(["export", "--format", "csv", "--database", database], {
    PLANTSTORE_DELIMITER: value,
  });
  expect(exported).toEqual({ exitCode: 0, stdout: csv, stderr: "" });
});
