// The suite "large-store": random ids into a store that is much larger than SQLite's page cache.

import { Database } from "bun:sqlite";
import { copyFileSync, statSync } from "node:fs";
import { wrkRandomIds } from "../loads/wrk.ts";
import { MemoryGroup } from "../memory-group.ts";
import { runProgram } from "../processes.ts";
import { countSqliteRows } from "../sqlite.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { createToken, startPlantstore } from "../subjects/plantstore.ts";
import { metrics, type Plantstore, type Scenario, type Setup, type Suite } from "../suite.ts";

export const largeStoreSuite: Suite = {
  name: "large-store",
  title: "Large store",
  summary:
    "Creates with random ids into a SQLite store of many plants, where each dirties a page of its own, beside the same into an empty store, and by a server that may use a quarter of the store's size as memory; with all checkpoints.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 3, plants: 20_000_000 },
  setUp: randomIds,
};

const large = "large store";
const empty = "empty store";
const limited = "large store in a quarter of its size";

/** A server takes as much without a page of the store. */
const memoryBytesMin = 200e6;

async function randomIds(setup: Setup): Promise<Scenario<HttpSubject>> {
  const { folder, plants, versions, progress } = setup;
  const [thisCommit] = versions;
  const made = `${folder}/made.db`;
  const token = await createToken(thisCommit, `sqlite:${made}`);
  progress(`storing ${plants} plants`);
  storePlants(made, plants);
  /** Starts a server on a copy of the store that is not in the kernel's page cache. */
  async function startLarge(version: Plantstore, name: string, memory?: MemoryGroup): Promise<HttpSubject> {
    const file = `${folder}/${name}${version.suffix}.db`.replaceAll(" ", "-");
    copyFileSync(made, file);
    await runProgram(["sync", file]);
    await runProgram(["dd", `if=${file}`, "iflag=nocache", "count=0"]);
    const countRows = () => countSqliteRows(file) - plants;
    const database = `sqlite:${file}`;
    return startPlantstore(setup, version, { name, database, token, countRows, ...(memory && { memory }) });
  }
  const subjects: HttpSubject[] = [];
  for (const version of versions) subjects.push(await startLarge(version, large));
  const memory = memoryOf(setup, statSync(made).size / 4);
  if (memory !== undefined) subjects.push(await startLarge(thisCommit, limited, memory));
  subjects.push(await startPlantstore(setup, thisCommit, { name: empty }));
  const load = wrkRandomIds(256);
  const at = (threshold: { atLeast: number } | { atMost: number }) => ({ [load.name]: threshold });
  return {
    name: `Random ids into ${plants.toLocaleString("en")} plants`,
    subjects,
    loads: [load],
    metrics: [metrics.creates, metrics.p50, metrics.p99, metrics.cpu, metrics.memory],
    claims: [
      { subject: large, metric: metrics.creates },
      {
        subject: large,
        metric: metrics.creates,
        over: empty,
        thresholds: at({ atLeast: 0.65 }),
      },
      { subject: large, metric: metrics.p99, thresholds: at({ atMost: 100 }) },
      { subject: large, metric: metrics.memory, thresholds: at({ atMost: 200 }) },
      { subject: limited, metric: metrics.creates, over: empty },
      { subject: limited, metric: metrics.p99, thresholds: at({ atMost: 100 }) },
    ],
  };
}

/** The limit on the memory of a server; undefined where there can be none. */
function memoryOf({ stack, skip }: Setup, bytes: number): MemoryGroup | undefined {
  if (bytes < memoryBytesMin) {
    skip(
      limited,
      `a quarter of the store is less than the ${memoryBytesMin / 1e6} MB of a server; use more --plants`,
    );
    return undefined;
  }
  try {
    return stack.use(new MemoryGroup(bytes));
  } catch (error) {
    skip(limited, `no control group of memory can be made here: ${(error as Error).message}`);
    return undefined;
  }
}

/**
 * Stores plants with random ids from 0 to 2^62, in order, as inserts at random take hours. Every
 * third one is inserted in a second run, so that pages are as full as random inserts leave them.
 */
function storePlants(file: string, plants: number): void {
  using database = new Database(file);
  // Made in one go: what is there after a crash is removed.
  database.run("PRAGMA journal_mode = OFF");
  database.run("PRAGMA synchronous = OFF");
  const idsApart = 2n ** 62n / BigInt(plants);
  for (const part of ["number % 3 <> 2", "number % 3 = 2"])
    database.run(
      `INSERT INTO plants (id, name, tag, created_at)
       WITH RECURSIVE numbers (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${plants - 1})
       SELECT number * ${idsApart} + abs(random()) % ${idsApart}, 'Monstera deliciosa ' || (1000000000000 + number), 'tropical', 0
       FROM numbers WHERE ${part}`,
    );
}
