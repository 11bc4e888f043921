// The suite "import": a CSV file into a new store, by `import` and by the sqlite3 shell.

import { rm } from "node:fs/promises";
import { printedVersion, runProgram } from "../processes.ts";
import { countSqliteRows } from "../sqlite.ts";
import type { Scenario, Setup, Subject, Suite } from "../suite.ts";

export const importSuite: Suite = {
  name: "import",
  title: "Import",
  summary:
    "A CSV file of new plants with ascending ids into an empty store, by plantstore import and by .import of the sqlite3 shell into the same table. The file has all columns of the table, of which plantstore sets two itself.",
  programs: { sqlite3: "sqlite3" },
  defaults: { rounds: 5, seconds: 1, plants: 2_000_000 },
  setUp: imports,
};

const speed = "plants/s";
const [subject, shell, load] = ["plantstore", "sqlite3 .import", "CSV"];

interface Importer extends Subject {
  readonly command: readonly string[];
  /** Rows of all stores that it has filled. */
  rows: number;
}

function importer(name: string, command: readonly string[]): Importer {
  const importing = { name, command, rows: 0, countRows: () => importing.rows };
  return importing;
}

async function imports({ folder, versions, plants, recordVersion }: Setup): Promise<Scenario<Importer>> {
  const csv = `${folder}/plants.csv`;
  await writePlants(csv, plants);
  recordVersion("sqlite3", printedVersion(["sqlite3", "--version"]));
  const [{ command: plantstore }] = versions;
  const file = `${folder}/import.db`;
  return {
    name: "Import",
    subjects: [
      ...versions.map(({ command, suffix }) =>
        importer(`${subject}${suffix}`, [command, "import", csv, "--database", `sqlite:${file}`]),
      ),
      importer(shell, [
        ...["sqlite3", file, "-cmd", "PRAGMA synchronous = FULL"],
        `.import --csv --skip 1 ${csv} plants`,
      ]),
    ],
    loads: [
      {
        name: load,
        run: async (importing) => {
          for (const suffix of ["", "-wal", "-shm"]) await rm(file + suffix, { force: true });
          await runProgram([plantstore, "migrate", "--database", `sqlite:${file}`]);
          const { seconds } = await runProgram(importing.command);
          importing.rows += countSqliteRows(file);
          return { figures: { [speed]: plants / seconds }, acknowledged: plants };
        },
      },
    ],
    metrics: [speed],
    claims: [
      {
        subject,
        metric: speed,
        over: shell,
        thresholds: { [load]: { atLeast: 0.8 } },
      },
    ],
  };
}

async function writePlants(file: string, plants: number): Promise<void> {
  const writer = Bun.file(file).writer();
  writer.write("id,name,tag,created_at,creator\n");
  for (let id = 1; id <= plants; id++)
    writer.write(`${id},Monstera deliciosa ${id},${id % 2 === 0 ? "tropical" : ""},1764130000000,1\n`);
  await writer.end();
}
