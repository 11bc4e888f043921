// The suite "operations": everything that a collection serves, beside its creates.

import { Database } from "bun:sqlite";
import { writeFileSync } from "node:fs";
import { sqliteDatabase, startBaselines } from "../baselines.ts";
import { runScript } from "../loads/wrk.ts";
import { type HttpSubject, requestOf } from "../subjects/http.ts";
import { startPlantstore } from "../subjects/plantstore.ts";
import { startBenchPostgres } from "../subjects/postgres.ts";
import { type Claim, type Load, metrics, type Run, type Scenario, type Setup, type Suite } from "../suite.ts";

export const operationsSuite: Suite = {
  name: "operations",
  title: "Reads and changes",
  summary:
    "Creates, gets, pages of 100, replacements, changes and deletions of a collection whose ids the server chooses, on SQLite and PostgreSQL, beside the same in Rust with a history, a bare Bun server with bun:sqlite in its only thread, and PocketBase.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 2 },
  setUp: operations,
};

/** The suite "threads": where the processor time of each operation goes. */
export const threadsSuite: Suite = {
  name: "threads",
  title: "Processor time by thread",
  summary:
    "Processor time of each thread for a create, get, list, replacement, change or deletion on SQLite.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 5, seconds: 2 },
  async setUp(setup) {
    return {
      name: "Threads",
      subjects: await startOnSqlite(setup),
      loads: loadsOf(setup, 64, new Map()),
      metrics: [perSecond, metrics.cpu],
      claims: [],
    };
  },
};

const script = new URL("../loads/wrk-operations.lua", import.meta.url).pathname;
const contract = new URL("../loads/operations.yaml", import.meta.url).pathname;

const perSecond = "requests/s";
const ofCreates = "times the creates";
const p99OfCreates = "p99, times that of creates alone";

/** The plants that are read, replaced and changed. */
const plantsInUse = 400;
/** More than any subject deletes in a second. */
const deletionsPerSecondMax = 20_000;

interface Resource extends HttpSubject {
  readonly collection: string;
  /** The parameter of a list. */
  readonly limit: string;
  readonly replaceBy: string;
  /** Ids of its store, in their order or in reverse. */
  readIds(order: "ASC" | "DESC", count: number): Promise<string[]>;
}

async function operations(setup: Setup): Promise<Scenario<Resource>> {
  const postgres = await startBenchPostgres(setup);
  const subjects = await startOnSqlite(setup);
  for (const [index, version] of setup.versions.entries()) {
    const name = `operations_${index}`;
    const { address, ...rest } = await postgres.createDatabase(name);
    const other = await startPlantstore(setup, version, {
      ...{ contract, name: "postgres", database: address },
      ...rest,
    });
    const readIds = async (order: string, count: number) =>
      (await postgres.server.query(name, idsSql(order, count))).map(({ id }) => String(id));
    subjects.push({ ...other, ...{ collection: "/plants", limit: "limit", replaceBy: "PUT" }, readIds });
  }
  for (const baseline of await startBaselines(setup, "operations", sqliteDatabase(setup)))
    subjects.push(onSqlite(baseline, baseline.database, baseline));
  /** Creates a second by subject and connections, in the current round. */
  const creates = new Map<string, Run["figures"]>();
  const loads = [64, 1].flatMap((connections) => loadsOf(setup, connections, creates));
  return {
    name: "Operations",
    subjects,
    loads: [...loads, besideReaders(setup, creates)],
    metrics: [perSecond, ofCreates, metrics.p50, metrics.p99, p99OfCreates, metrics.cpu],
    claims: [...claims("sqlite", 0.2, 0.5), ...claims("postgres", 0.15, 0.4)],
  };
}

async function startOnSqlite(setup: Setup): Promise<Resource[]> {
  const subjects: Resource[] = [];
  for (const version of setup.versions) {
    const sqlite = await startPlantstore(setup, version, { contract, name: "sqlite" });
    subjects.push(onSqlite(sqlite, sqlite.server.path));
  }
  return subjects;
}

function onSqlite(
  subject: HttpSubject,
  file: string,
  { limit = "limit", replaceBy = "PUT" }: Partial<Record<"limit" | "replaceBy", string | undefined>> = {},
): Resource {
  return {
    ...subject,
    replaceBy,
    collection: subject.collection ?? "/plants",
    limit,
    async readIds(order, count) {
      using database = new Database(file, { readonly: true });
      return database
        .query<{ id: string }, []>(idsSql(order, count))
        .all()
        .map(({ id }) => id);
    },
  };
}

function idsSql(order: string, count: number): string {
  return `SELECT CAST(id AS text) AS id FROM plants ORDER BY plants.id ${order} LIMIT ${count}`;
}

const body = '{"name":"Monstera deliciosa #","tag":"tropical #"}';

function createArgs(firstId: number): string[] {
  return ["POST", "", "", body, String(firstId), ""];
}

function loadsOf(setup: Setup, connections: number, creates: Map<string, Run["figures"]>): Load<Resource>[] {
  const over = connections === 1 ? "1 connection" : `${connections} connections`;
  /** Plants that were created to be deleted. */
  let spare = 0;
  const load = (
    kind: string,
    run: (subject: Resource, ids: string, trial: TrialOf) => string[],
  ): Load<Resource> => ({
    name: `${kind}, ${over}`,
    warmsUp: kind === "create",
    // A deletion may take less time than a create.
    async prepare({ collection, url, token }, { seconds, firstId }) {
      if (kind !== "delete") return;
      const args = [token, ...createArgs(firstId)];
      spare = (await runScript(script, url + collection, 64, 2 * seconds, args)).requests;
    },
    async run(subject, { seconds, firstId }) {
      const isDeletion = kind === "delete";
      const ids = `${setup.folder}/ids`;
      const count = isDeletion ? deletionsPerSecondMax * seconds : plantsInUse;
      const { collection, url, token } = subject;
      const found = await subject.readIds(isDeletion ? "DESC" : "ASC", count);
      // The plants in use are the first, and stay.
      const used = isDeletion ? found.slice(0, -plantsInUse) : found;
      writeFileSync(ids, used.join("\n"));
      const args = run(subject, ids, { seconds, firstId });
      const ran = await runScript(script, url + collection, connections, seconds, [token, ...args]);
      if (kind === "change" || kind === "replace") await assertChanged(subject, used, firstId, ran.requests);
      const own = { ...ran.figures, [perSecond]: ran.perSecond };
      if (kind === "create") creates.set(`${subject.name} ${connections}`, own);
      const alone = creates.get(`${subject.name} ${connections}`)?.[perSecond] ?? Number.NaN;
      // wrk ends without waiting for its last responses.
      const deleted = ran.requests + connections;
      const acknowledged = { create: ran.requests, delete: spare - deleted }[kind] ?? 0;
      return { ...ran, figures: { ...own, [ofCreates]: ran.perSecond / alone }, acknowledged };
    },
  });
  return [
    load("create", (_, __, { firstId }) => createArgs(firstId)),
    load("get", (_, ids) => ["GET", "", ids, "", "0", ""]),
    load("list of 100", ({ limit }) => ["GET", `?${limit}=100`, "", "", "0", ""]),
    load("replace", ({ replaceBy }, ids, { firstId }) => [replaceBy, "", ids, body, String(firstId), ""]),
    load("change", (_, ids, { firstId }) => ["PATCH", "", ids, '{"tag":"tropical #"}', String(firstId), ""]),
    load("delete", (_, ids) => ["DELETE", "", ids, "", "0", "each"]),
  ];
}

interface TrialOf {
  readonly seconds: number;
  readonly firstId: number;
}

/** Throws unless plants have the texts of a run that has changed each of them. */
async function assertChanged(subject: Resource, ids: readonly string[], firstId: number, requests: number) {
  if (requests < 2 * ids.length) return;
  for (const id of ids.slice(0, 10)) {
    const { tag } = (await (await requestOf(subject, `/${id}`)).json()) as { tag: string };
    const number = Number(tag.replace("tropical ", ""));
    if (number <= firstId) throw new Error(`${subject.name} has not changed ${id}: its tag is ${tag}`);
  }
}

/** Creates over 64 connections while 64 others read single plants. */
function besideReaders(setup: Setup, creates: ReadonlyMap<string, Run["figures"]>): Load<Resource> {
  return {
    name: "create beside 64 readers, 64 connections",
    async run(subject, { seconds, firstId }) {
      const { collection, url, token } = subject;
      const ids = `${setup.folder}/ids`;
      writeFileSync(ids, (await subject.readIds("ASC", plantsInUse)).join("\n"));
      const run = (...args: string[]) => runScript(script, url + collection, 64, seconds, [token, ...args]);
      const [creating, reading] = await Promise.all([
        run(...createArgs(firstId)),
        run("GET", "", ids, "", "0", ""),
      ]);
      const alone = creates.get(`${subject.name} 64`) ?? {};
      const figures = {
        ...creating.figures,
        [perSecond]: creating.perSecond,
        [ofCreates]: creating.perSecond / (alone[perSecond] ?? Number.NaN),
        [p99OfCreates]: (creating.figures[metrics.p99] ?? Number.NaN) / (alone[metrics.p99] ?? Number.NaN),
      };
      return { figures, requests: creating.requests + reading.requests, acknowledged: creating.requests };
    },
  };
}

function claims(subject: string, list: number, edits: number): Claim[] {
  const many = Object.entries({
    get: 1.2,
    "list of 100": list,
    replace: edits,
    change: edits,
    delete: edits,
  });
  const beside = "create beside 64 readers, 64 connections";
  return [
    {
      subject,
      metric: ofCreates,
      thresholds: {
        ...Object.fromEntries(many.map(([kind, atLeast]) => [`${kind}, 64 connections`, { atLeast }])),
        "get, 1 connection": { atLeast: 2 },
        "change, 1 connection": { atLeast: 0.91 },
        [beside]: { atLeast: 0.33 },
      },
    },
    { subject, metric: p99OfCreates, thresholds: { [beside]: { atMost: 1.5 } } },
  ];
}
