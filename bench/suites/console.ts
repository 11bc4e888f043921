// The suite "console": how long the console's lists take with many plants in the store, what each optional index costs
// creates and how long it takes to build, and what a console that is open in a browser costs creates.

import { copyFileSync } from "node:fs";
import { chromiumPath } from "../../test/support/chromium.ts";
import { ConsoleClient } from "../../test/support/console.ts";
import { CountedStore, countSqliteRows } from "../durability-audit.ts";
import { wrkLoads } from "../loads/wrk.ts";
import { type GeneratedPlant, writePlantFile } from "../plant-files.ts";
import { runProgram } from "../processes.ts";
import { createPlant, type HttpSubject } from "../subjects/http.ts";
import {
  createToken,
  type Plantstore,
  type PlantstoreSubject,
  startPlantstore,
} from "../subjects/plantstore.ts";
import { BenchPostgres } from "../subjects/postgres.ts";
import { type Load, metrics, type Run, type Scenario, type Setup, type Suite } from "../suite.ts";
import { quantile } from "../summary.ts";

export const consoleSuite: Suite = {
  name: "console",
  title: "The console",
  summary:
    "The time of the console's lists, over HTTP, with and without its optional indexes; what each index costs creates and takes to build; and what a console open in Chromium on the same machine costs creates.",
  defaults: { plants: 1_000_000 },
  scenarios: [lists, indexCosts, openConsole],
};

const indexes = ["newest", "name", "tag", "text"] as const;

function nameOf(names: readonly string[]): string {
  if (names.length === 0) return "no index";
  return names.length === indexes.length ? "all indexes" : `index ${names}`;
}

/** Runs of the same list in a round. */
const readsPerRound = 5;

/** So that the list of the newest plants has something to show. */
const newPlants = 50;

/** Spreads numbers over the ids below 10^12, where those of a load begin; without repetition up to 10^8. */
const idStep = 9_973;
const tagCount = 1_000;
const names = ["Monstera deliciosa", "Ficus elastica", "Calathea orbifolia", "Hoya carnosa"];

/** Neither ids nor names in the order of the file. */
function plantAt(plants: number): (index: number) => GeneratedPlant {
  return (index) => ({
    id: (1 + shuffled(index, plants)) * idStep,
    name: `${names[index % names.length]} ${(index * 7_919) % plants}`,
    tag: `tag ${index % tagCount}`,
  });
}

/** A large prime as the step: each number below `plants` comes up once. */
function shuffled(index: number, plants: number): number {
  return (index * 7_368_787) % plants;
}

/** Each kind of list, by what the console asks of the server for it. */
const kinds: Readonly<Record<string, (index: number, plants: number) => Record<string, string>>> = {
  "first page": () => ({}),
  "middle page": (index, plants) => ({ after: `id.${idStep * (1 + shuffled(index, plants))}` }),
  "newest first": () => ({ sort: "created" }),
  "sorted by name": () => ({ sort: "name" }),
  "sorted by tag": () => ({ sort: "tag" }),
  "one id": (index, plants) => ({ text: String(idStep * (1 + shuffled(index, plants))) }),
  "a name": (index, plants) => ({ text: `Hoya carnosa ${(index * 7_919) % plants}` }),
  "a part of many names": () => ({ text: "ELICIOSA" }),
  "a part of few names": (index) => ({ text: `osa ${100_000 + index * 37}` }),
  "a part that no name has": (index) => ({ text: `iosa fic${index}` }),
  "a tag": (index) => ({ tag: `tag ${(index * 37) % tagCount}` }),
  "a part and a tag": (index) => ({ text: "arno", tag: `tag ${(index * 37) % tagCount}` }),
};

interface ConsoleSubject extends PlantstoreSubject {
  readonly version: Plantstore;
  readonly hasIndexes: boolean;
}

const listMsMax = 300;
const slowest = "slowest list, ms";
const slowestById = "slowest list by id, ms";

async function lists(setup: Setup): Promise<Scenario<ConsoleSubject>> {
  const subjects: ConsoleSubject[] = [];
  for (const stores of [new FilledStores(setup), new FilledStores(setup, await BenchPostgres.start(setup))]) {
    for (const version of setup.versions) {
      for (const names of [[], indexes]) {
        const name = `${stores.engine} with ${nameOf(names)}`;
        const subject = await startPlantstore(setup, version, {
          ...(await stores.copy(version, names)),
          name,
        });
        const firstId = setup.nextFirstId();
        for (let count = 0; count < newPlants; count++) await createPlant(subject, firstId + count);
        subjects.push({ ...subject, version, hasIndexes: names.length > 0 });
      }
    }
  }
  const load = `${setup.plants.toLocaleString("en-US")} plants`;
  const thresholds = { [load]: { atMost: listMsMax } };
  return {
    name: "Lists and indexes",
    subjects,
    loads: [
      { name: load, warmsUp: true, run: (subject) => readLists(subject, setup.plants) },
      ...indexes.map((index) => ({
        name: `building the index ${index}`,
        rounds: 1,
        skips: ({ hasIndexes }: ConsoleSubject) => hasIndexes,
        run: ({ version, server }: ConsoleSubject) => buildIndex(version, index, server.database),
      })),
    ],
    metrics: [...Object.keys(kinds).map((kind) => `${kind}, ms`), "seconds"],
    claims: ["SQLite", "PostgreSQL"].flatMap((engine) => [
      { subject: `${engine} with all indexes`, metric: slowest, loads: [load], thresholds },
      { subject: `${engine} with no index`, metric: slowestById, loads: [load], thresholds },
    ]),
  };
}

/** Each kind of list several times, each time of other plants; the median of the times. */
async function readLists({ server }: ConsoleSubject, plants: number): Promise<Run> {
  const client = await ConsoleClient.of(server);
  const figures: Record<string, number> = {};
  const offset = Math.floor(performance.now());
  for (const [kind, parametersOf] of Object.entries(kinds)) {
    const times: number[] = [];
    for (let index = 0; index < readsPerRound; index++) {
      const parameters = new URLSearchParams(parametersOf(offset + index, plants));
      const start = performance.now();
      const { status, text } = await client.read(`plants?${parameters}`);
      times.push(performance.now() - start);
      if (status !== 200) throw new Error(`the console answered ${status} ${text}`);
    }
    figures[`${kind}, ms`] = quantile(times, 0.5);
  }
  const worst = (kinds: readonly string[]) => Math.max(...kinds.map((kind) => figures[`${kind}, ms`] ?? 0));
  const byId = worst(["first page", "middle page", "newest first", "one id"]);
  return { figures: { ...figures, [slowest]: worst(Object.keys(kinds)), [slowestById]: byId } };
}

/** While the server runs, as an operator does it. */
async function buildIndex({ command }: Plantstore, index: string, database: string): Promise<Run> {
  const { seconds } = await runProgram([command, "index", "create", index, "--database", database]);
  await runProgram([command, "index", "drop", index, "--database", database]);
  return { figures: { seconds } };
}

async function indexCosts(setup: Setup): Promise<Scenario<HttpSubject>> {
  const stores = new FilledStores(setup);
  const subjects: HttpSubject[] = [];
  for (const version of setup.versions) {
    for (const names of [[], ...indexes.map((index) => [index]), indexes]) {
      const options = { ...(await stores.copy(version, names)), name: nameOf(names) };
      subjects.push(await startPlantstore(setup, version, options));
    }
  }
  return {
    name: "Creates with indexes",
    subjects,
    loads: wrkLoads(64),
    metrics: [metrics.creates, metrics.p50, metrics.p99, metrics.cpu],
    claims: [["newest"], ["text"], indexes].map((names) => ({
      ...{ subject: nameOf(names), metric: metrics.creates, over: { subject: nameOf([]) } },
    })),
  };
}

/** The page has read everything then, and drawn it. */
const openedMs = 3_000;

async function openConsole(setup: Setup): Promise<Scenario<HttpSubject> | undefined> {
  if (chromiumPath() === null) {
    setup.skip("an open console", "Chromium is not installed: apt-get install chromium");
    return undefined;
  }
  const closed = await startPlantstore(setup, setup.versions[0], { name: "console closed" });
  const consoleUrl = `${await closed.server.adminUrl()}/console/`;
  const { stop, ...open } = { ...closed, name: "console open" };
  // The browser itself, without a page, runs for both.
  const { TestBrowser } = await import("../../test/support/browser.ts");
  const browser = setup.stack.use(await TestBrowser.start());
  const loads = wrkLoads(64).map(
    (load): Load<HttpSubject> => ({
      ...load,
      run: async (subject, trial) => {
        if (subject.name === closed.name) return load.run(subject, trial);
        const run = Promise.withResolvers<Run>();
        await browser.visit(consoleUrl, {}, async (page) => {
          await page.getByRole("heading", { name: "Plants", exact: true }).waitFor();
          await Bun.sleep(openedMs);
          run.resolve(await load.run(subject, trial));
        });
        return run.promise;
      },
    }),
  );
  const [subject, over] = [open.name, { subject: closed.name }];
  return {
    name: "Creates with the console open",
    subjects: [closed, open],
    loads,
    metrics: [metrics.creates, metrics.p50, metrics.p99, metrics.cpu],
    claims: [{ subject, metric: metrics.creates, over, thresholds: { "64 connections": { atLeast: 0.98 } } }],
  };
}

/** Stores with many plants: filled once for each version, as their schemas may differ, and copied for each subject. */
class FilledStores {
  readonly engine: string;
  readonly #setup: Setup;
  readonly #postgres: BenchPostgres | undefined;
  readonly #tokens = new Map<Plantstore, string>();
  #copies = 0;

  constructor(setup: Setup, postgres?: BenchPostgres) {
    this.engine = postgres === undefined ? "SQLite" : "PostgreSQL";
    this.#setup = setup;
    this.#postgres = postgres;
  }

  async copy(version: Plantstore, indexes: readonly string[]) {
    const { folder, versions, plants } = this.#setup;
    const [from, to] = [`filled_${versions.indexOf(version)}`, `copy_${this.#copies++}`];
    const token = this.#tokens.get(version) ?? (await this.#fill(version, from));
    this.#tokens.set(version, token);
    if (this.#postgres === undefined) copyFileSync(`${folder}/${from}.db`, `${folder}/${to}.db`);
    else await this.#postgres.createDatabase(to, from);
    const database = this.#address(to);
    for (const index of indexes)
      await runProgram([version.command, "index", "create", index, "--database", database]);
    const store = new CountedStore(`${this.engine} with ${nameOf(indexes)}`, async () => {
      const rows = this.#postgres?.countRows(to) ?? countSqliteRows(`${folder}/${to}.db`);
      return (await rows) - plants;
    });
    const durability = this.#postgres?.durability;
    return { database, token, store, ...(durability && { durability }) };
  }

  /** Returns a token of the store. */
  async #fill(version: Plantstore, name: string): Promise<string> {
    const { folder, plants, progress } = this.#setup;
    progress(`filling ${this.engine}${version.suffix} with ${plants.toLocaleString("en-US")} plants`);
    await this.#postgres?.createDatabase(name);
    const database = this.#address(name);
    const token = await createToken(version, database);
    const file = await writePlantFile(folder, "csv", plants, plantAt(plants));
    await runProgram([version.command, "migrate", "--database", database]);
    await runProgram([version.command, "import", file, "--quiet", "--database", database]);
    await this.#postgres?.server.query(name, "VACUUM ANALYZE plants");
    return token;
  }

  #address(name: string): string {
    return this.#postgres?.server.address(name) ?? `sqlite:${this.#setup.folder}/${name}.db`;
  }
}
