// The suite "large-store": creates with random ids into a store that is much larger than SQLite's page cache.

import { Database } from "bun:sqlite";
import { copyFileSync } from "node:fs";
import { CountedStore, countSqliteRows } from "../durability-audit.ts";
import { wrkRandomIds } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { createToken, startPlantstore } from "../subjects/plantstore.ts";
import { metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const largeStoreSuite: Suite = {
  name: "large-store",
  title: "Large store",
  summary:
    "Creates with random ids into a SQLite store of many plants, where each dirties a page of its own, beside the same into an empty store; with all checkpoints.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 3, plants: 20_000_000 },
  scenarios: [randomIds],
};

const large = "large store";
const empty = "empty store";

async function randomIds(setup: Setup): Promise<Scenario<HttpSubject>> {
  const { folder, plants, versions, progress } = setup;
  const [thisCommit] = versions;
  const made = `${folder}/made.db`;
  const token = await createToken(thisCommit, `sqlite:${made}`);
  progress(`storing ${plants} plants`);
  storePlants(made, plants);
  const subjects: HttpSubject[] = [];
  for (const [index, version] of versions.entries()) {
    const file = `${folder}/large-${index}.db`;
    copyFileSync(made, file);
    const store = new CountedStore(`${large}${version.suffix}`, () => countSqliteRows(file) - plants);
    subjects.push(
      await startPlantstore(setup, version, { name: large, database: `sqlite:${file}`, token, store }),
    );
  }
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
        over: { subject: empty },
        thresholds: at({ atLeast: 0.65 }),
      },
      { subject: large, metric: metrics.p99, thresholds: at({ atMost: 60 }) },
      { subject: large, metric: metrics.memory, thresholds: at({ atMost: 200 }) },
    ],
  };
}

/**
 * Stores plants with random ids all over 0 to 2^62, in order, as inserts at random take hours. Every third one is
 * inserted in a second run, so that pages are as full as random inserts leave them, and not all split with the next one.
 */
function storePlants(file: string, plants: number): void {
  using database = new Database(file);
  // Made in one go: what is there after a crash is removed.
  database.run("PRAGMA journal_mode = OFF");
  database.run("PRAGMA synchronous = OFF");
  const idsApart = 2n ** 62n / BigInt(plants);
  for (const part of ["number % 3 <> 2", "number % 3 = 2"])
    database.run(
      `INSERT INTO plants (id, name, tag)
       WITH RECURSIVE numbers (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${plants - 1})
       SELECT number * ${idsApart} + abs(random()) % ${idsApart}, 'Monstera deliciosa ' || (1000000000000 + number), 'tropical'
       FROM numbers WHERE ${part}`,
    );
}
