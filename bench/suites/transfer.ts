// The suite "transfer": imports into new stores and exports from full ones, beside the engines' own tools on the same
// table.

import { rmSync } from "node:fs";
import { countSqliteRows } from "../durability-audit.ts";
import { writePlantFile } from "../plant-files.ts";
import { findProgram, printedVersion, runProgram } from "../processes.ts";
import type { Plantstore } from "../subjects/plantstore.ts";
import { BenchPostgres } from "../subjects/postgres.ts";
import type { Load, Run, Scenario, Setup, Subject, Suite } from "../suite.ts";

export const transferSuite: Suite = {
  name: "transfer",
  title: "Import and export",
  summary:
    "Imports into a new store and exports from a full one, beside the engine's own tool on the same table: sqlite3 (.import, -json) and psql (\\copy). Processes from start to end; each store and file is counted.",
  programs: {},
  defaults: { rounds: 3, seconds: 1, plants: 500_000 },
  scenarios: [
    (setup) => transfers(setup, sqliteEngine(setup), "import", 0.5),
    (setup) => transfers(setup, sqliteEngine(setup), "export", 0.7),
    async (setup) => transfers(setup, await postgresEngine(setup), "import", 0.4),
    async (setup) => transfers(setup, await postgresEngine(setup), "export", 0.7),
  ],
};

/** Memory is also measured with this many times the plants, and must not grow. */
const memoryFactor = 5;

interface Engine {
  readonly name: string;
  readonly durability: string;
  /** Its own tool, and the Debian package that has it. */
  readonly tool: { readonly program: string; readonly debianPackage: string };
  readonly newStore: () => Promise<NewStore>;
}

interface NewStore {
  /** As `--database` takes it. */
  readonly database: string;
  /** The commands of the tool. */
  readonly import: (csv: string) => readonly string[];
  readonly export: readonly string[];
  readonly countRows: () => number | Promise<number>;
  readonly remove: () => unknown;
}

interface Mover extends Subject {
  readonly version: Plantstore;
  /** The engine's own tool has none. */
  readonly format?: "csv" | "ndjson";
}

async function transfers(
  setup: Setup,
  { name: engine, durability, tool, newStore }: Engine,
  direction: "import" | "export",
  ofToolMin: number,
): Promise<Scenario<Mover>> {
  const { folder, versions, skip, recordVersion } = setup;
  const { program, debianPackage } = tool;
  const output = `${folder}/output`;
  const fullStores = new Map<string, NewStore>();
  let rows = 0;

  async function runImport({ version: { command }, format }: Mover, plants: number): Promise<Run> {
    const store = await newStore();
    const database = ["--database", store.database];
    // The tool writes to the very table that the others write to.
    await runProgram([command, "migrate", ...database]);
    const file = await writePlantFile(folder, format ?? "csv", plants, plantAt);
    const own = [command, "import", file, "--quiet", ...database];
    const run = await runTimed(format === undefined ? store.import(file) : own, plants);
    count(await store.countRows(), plants);
    await store.remove();
    return run;
  }

  async function runExport({ version, format }: Mover, plants: number): Promise<Run> {
    // By command, as commits may differ in their schemas.
    const key = `${plants} ${version.command}`;
    const store = fullStores.get(key) ?? (await fill(version, plants));
    fullStores.set(key, store);
    const own = ["export", "--format", format ?? "", "--quiet", "--database", store.database];
    const run = await runTimed(format === undefined ? store.export : [version.command, ...own], plants);
    count((await countLines(output)) - (format === "csv" ? 1 : 0), plants);
    return run;
  }

  async function fill({ command }: Plantstore, plants: number): Promise<NewStore> {
    const store = await newStore();
    const database = ["--database", store.database];
    await runProgram([command, "migrate", ...database]);
    const file = await writePlantFile(folder, "csv", plants, plantAt);
    await runProgram([command, "import", file, "--quiet", ...database]);
    return store;
  }

  async function runTimed(command: readonly string[], plants: number): Promise<Run> {
    const { seconds, cpu, peakMb } = await runProgram(command, { output });
    const used = { "user µs/plant": cpu.userUs / plants, "system µs/plant": cpu.systemUs / plants };
    return { figures: { "plants/s": plants / seconds, "peak MB": peakMb, ...used }, acknowledged: plants };
  }

  function count(found: number, plants: number): void {
    if (found !== plants) throw new Error(`${engine} ${direction}: ${found} plants instead of ${plants}`);
    rows += found;
  }

  const audited = `${engine} ${direction}s`;
  const store = { audit: async (acknowledged: number) => ({ store: audited, acknowledged, rows }) };
  const [csv, ndjson] = [`${engine} ${direction}, csv`, `${engine} ${direction}, ndjson`];
  const subjects: Mover[] = versions.flatMap((version) => [
    { name: csv + version.suffix, version, format: "csv", store, durability },
    { name: ndjson + version.suffix, version, format: "ndjson", store, durability },
  ]);
  if (findProgram(program) === null) skip(program, `not installed: apt-get install ${debianPackage}`);
  else {
    recordVersion(program, printedVersion([program, "--version"]));
    subjects.push({ name: program, version: versions[0], store, durability });
  }
  const run = direction === "import" ? runImport : runExport;
  const load = (plants: number): Load<Mover> => ({
    name: `${plants.toLocaleString("en-US")} plants`,
    run: (mover) => run(mover, plants),
  });
  const [few, many] = [load(setup.plants), load(setup.plants * memoryFactor)];
  return {
    name: audited,
    subjects,
    loads: [few, { ...many, rounds: 1, skips: ({ format }) => format !== "ndjson" }],
    metrics: ["plants/s", "peak MB", "user µs/plant", "system µs/plant"],
    claims: [
      ...[csv, ndjson].map((subject) => ({
        ...{ subject, metric: "plants/s", over: { subject: program }, loads: [few.name] },
        thresholds: { [few.name]: { atLeast: ofToolMin } },
      })),
      { subject: ndjson, metric: "peak MB", over: { load: few.name }, loads: [many.name] },
    ],
  };
}

/** Ids ascend, as in a list that grew by itself. Every plant has a tag, as .import would make "" of none. */
function plantAt(index: number) {
  const id = 10 ** 12 + index;
  return { id, name: `Monstera deliciosa ${id}`, tag: "tropical" };
}

async function countLines(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of Bun.file(file).stream())
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, at + 1)) lines++;
  return lines;
}

function sqliteEngine({ folder }: Setup): Engine {
  let made = 0;
  return {
    name: "SQLite",
    durability: "journal_mode wal",
    tool: { program: "sqlite3", debianPackage: "sqlite3" },
    newStore: async () => {
      const file = `${folder}/store-${made++}.db`;
      return {
        database: `sqlite:${file}`,
        import: (csv) => ["sqlite3", file, `.import --csv --skip 1 ${csv} plants`],
        export: ["sqlite3", "-json", file, "SELECT id, name, tag FROM plants ORDER BY id"],
        countRows: () => countSqliteRows(file),
        remove: () => ["", "-wal", "-shm"].map((suffix) => rmSync(file + suffix, { force: true })),
      };
    },
  };
}

async function postgresEngine(setup: Setup): Promise<Engine> {
  const postgres = await BenchPostgres.start(setup);
  let made = 0;
  return {
    name: "PostgreSQL",
    durability: postgres.durability,
    tool: { program: "psql", debianPackage: "postgresql-client" },
    newStore: async () => {
      const name = `store_${made++}`;
      const database = await postgres.createDatabase(name);
      const psql = ["psql", "--no-psqlrc", "--quiet", database, "--command"];
      return {
        database,
        import: (csv) => [...psql, `\\copy plants FROM '${csv}' CSV HEADER`],
        export: [...psql, "\\copy (SELECT id, name, tag FROM plants ORDER BY id) TO STDOUT CSV"],
        countRows: () => postgres.countRows(name),
        remove: () => postgres.server.query("postgres", `DROP DATABASE ${name} WITH (FORCE)`),
      };
    },
  };
}
