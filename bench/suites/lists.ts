// The suite "lists": filters, orders and searches in a store of many plants.

import { Database } from "bun:sqlite";
import { runScript } from "../loads/wrk.ts";
import { countSqliteRows } from "../sqlite.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { createToken, startPlantstore } from "../subjects/plantstore.ts";
import { startBenchPostgres } from "../subjects/postgres.ts";
import { type Load, metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const listsSuite: Suite = {
  name: "lists",
  title: "Lists",
  summary:
    "Pages of 50 of many plants, with filters, orders, a number of all, and a search, on SQLite and PostgreSQL; and lists beside 64 that find nothing, of another caller. Its worst figures are those of --plants 5000000.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 3, seconds: 1, plants: 1_000_000 },
  setUp: lists,
};

const script = new URL("../loads/wrk-operations.lua", import.meta.url).pathname;
const contract = new URL("../loads/lists.yaml", import.meta.url).pathname;

const perSecond = "requests/s";
const ofAlone = "times the same alone";

/** The queries of lists by their names. */
const queries = {
  "page 1 with the number of all": "page=1",
  "a filter that 1 of 10,000 fits": "owner=owner-77",
  "a filter that nothing fits": "owner=nobody",
  "a filter that half fit": "status=open",
  "a range that most fit": "price_gte=1",
  "a range of the latest": "due_after=2089-09-01",
  "an order": "sort=name",
  "a filter in an order": "status=open&sort=-price",
  "a search that many fit": "q=7",
};

interface Listed extends HttpSubject {
  readonly otherToken: string;
}

async function lists(setup: Setup): Promise<Scenario<Listed>> {
  const { folder, plants, versions, progress } = setup;
  const postgres = await startBenchPostgres(setup);
  const subjects: Listed[] = [];
  for (const [index, version] of versions.entries()) {
    const file = `${folder}/lists-${index}.db`;
    const name = `lists_${index}`;
    const { address, countRows, durability } = await postgres.createDatabase(name);
    for (const [engine, database, count] of [
      ["sqlite", `sqlite:${file}`, () => countSqliteRows(file)],
      ["postgres", address, countRows],
    ] as const) {
      const token = await createToken(version, database, contract);
      progress(`storing ${plants} plants on ${engine}`);
      if (engine === "sqlite") {
        using store = new Database(file);
        store.run(
          rowsSql(
            `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${plants})`,
            "numbers",
          ),
        );
        store.run("PRAGMA wal_checkpoint(TRUNCATE)");
      } else {
        await postgres.server.query(name, rowsSql("", `generate_series(1, ${plants}) AS numbers (n)`));
        await postgres.server.query(name, "VACUUM ANALYZE plants");
      }
      const subject = await startPlantstore(setup, version, {
        ...{ contract, name: engine, database, token, ...(engine === "postgres" && { durability }) },
        countRows: async () => (await count()) - plants,
      });
      subjects.push({ ...subject, otherToken: await createToken(version, database, undefined, "other") });
    }
  }
  const alone = new Map<string, number>();
  const quick = "lists of 50, 64 connections";
  const own = (subject: Listed, query: string, connections: number, seconds: number, token = subject.token) =>
    runScript(script, `${subject.url}/plants`, connections, seconds, [
      token,
      "GET",
      `?size=50&${query}`,
      "",
      "",
      "0",
      "",
    ]);
  const load = (name: string, query: string, connections: number): Load<Listed> => ({
    name,
    warmsUp: true,
    async run(subject, { seconds }) {
      const ran = await own(subject, query, connections, seconds);
      alone.set(`${subject.name} ${name}`, ran.perSecond);
      return { ...ran, figures: { ...ran.figures, [perSecond]: ran.perSecond } };
    },
  });
  const beside: Load<Listed> = {
    name: `${quick}, beside 64 slow ones`,
    async run(subject, { seconds }) {
      const stop = new AbortController();
      const slow = Array.from({ length: 64 }, async () => {
        while (!stop.signal.aborted)
          await fetch(`${subject.url}/plants?size=50&q=nothing`, {
            headers: { Authorization: `Bearer ${subject.otherToken}` },
            signal: stop.signal,
          }).then(
            (response) => response.text(),
            () => undefined,
          );
      });
      const ran = await own(subject, "sort=due", 64, seconds);
      stop.abort();
      await Promise.all(slow);
      const ratio = ran.perSecond / (alone.get(`${subject.name} ${quick}`) ?? Number.NaN);
      return { ...ran, figures: { ...ran.figures, [perSecond]: ran.perSecond, [ofAlone]: ratio } };
    },
  };
  const each = Object.entries(queries).map(([name, query]) => load(name, query, 1));
  const limits = Object.fromEntries(Object.keys(queries).map((name) => [name, { atMost: 20 }]));
  return {
    name: `Lists of ${plants.toLocaleString("en")} plants`,
    subjects,
    loads: [...each, load(quick, "sort=due", 64), beside],
    metrics: [perSecond, metrics.p50, metrics.p99, ofAlone, metrics.cpu],
    claims: ["sqlite", "postgres"].flatMap((subject) => [
      { subject, metric: metrics.p50, thresholds: limits },
      { subject, metric: ofAlone, thresholds: { [beside.name]: { atLeast: 0.5 } } },
    ]),
  };
}

/** Stores plants whose values are spread. */
function rowsSql(before: string, numbers: string): string {
  return `INSERT INTO plants (id, name, owner, status, price, due, created_at) ${before}
    SELECT CAST(n AS bigint) * 1000003, 'Plant ' || (n % 1000 * 7919 + n), 'owner-' || (n % 10000),
      CASE WHEN n % 2 = 0 THEN 'open' ELSE 'closed' END, (n * 31 % 1000) || '.' || (10 + n % 89),
      (2000 + n % 90) || '-0' || (1 + n % 9) || '-1' || (n % 10) || 'T08:00:0' || (n % 10) || 'Z', 0
    FROM ${numbers}`;
}
