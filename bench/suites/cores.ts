// The suite "cores": one, two and three servers on one SQLite file, and what sharing the file's lock costs them.

import { readdirSync, readFileSync } from "node:fs";
import type { RunningServer } from "../../test/support/server.ts";
import { type CpuReading, readThreads } from "../cpu-usage.ts";
import { CountedStore, countSqliteRows } from "../durability-audit.ts";
import { runWrk } from "../loads/wrk.ts";
import { createToken, type PlantstoreSubject, startPlantstore } from "../subjects/plantstore.ts";
import {
  idsPerRun,
  metrics,
  type Run,
  type Scenario,
  type Setup,
  type Subject,
  type Suite,
  type Trial,
} from "../suite.ts";

export const coresSuite: Suite = {
  name: "cores",
  title: "Several servers on one file",
  summary:
    "One, two and three servers on one SQLite file, each loaded by a wrk of its own with its part of 240 connections: processor time of each thread, creates in a commit, and the part of its time that a commit thread waits for the file's lock.",
  defaults: { rounds: 5, seconds: 2 },
  scenarios: [severalServers],
};

const connections = 240;
const serversMax = 3;

interface ServersSubject extends Subject {
  readonly servers: readonly PlantstoreSubject[];
}

const measured = {
  commits: "commits/s",
  batch: "creates/commit",
  commitMs: "ms/commit",
  lockWait: "% waiting for the lock",
} as const;

async function severalServers(setup: Setup): Promise<Scenario<ServersSubject>> {
  const [version] = setup.versions;
  const file = `${setup.folder}/shared.db`;
  const database = `sqlite:${file}`;
  const token = await createToken(version, database);
  const store = new CountedStore("servers on one file", () => countSqliteRows(file));
  const servers: PlantstoreSubject[] = [];
  for (let number = 1; number <= serversMax; number++)
    servers.push(await startPlantstore(setup, version, { name: `server ${number}`, database, token, store }));
  const subjects = servers.map((last, index) => toSubject(servers.slice(0, index + 1), last, store));
  const [one, , three] = subjects.map(({ name }) => name);
  return {
    name: "Servers on one SQLite file",
    subjects,
    loads: [{ name: `${connections} connections`, warmsUp: true, run: loadTogether }],
    metrics: [metrics.creates, metrics.p99, ...Object.values(measured), metrics.cpu],
    claims: [{ subject: three ?? "", metric: metrics.creates, over: { subject: one ?? "" } }],
  };
}

/** The servers are stopped one by one, each with the subject that it is the last of. */
function toSubject(
  servers: readonly PlantstoreSubject[],
  last: PlantstoreSubject,
  store: CountedStore,
): ServersSubject {
  const { durability, stop } = last;
  return {
    name: servers.length === 1 ? "1 server" : `${servers.length} servers`,
    servers,
    store,
    ...(durability === undefined ? {} : { durability }),
    readCpu: () => readRoles(servers.map(({ server }) => server.pid)),
    ...(stop === undefined ? {} : { stop }),
  };
}

/** The main thread has the name of the program, and threads of the runtime have many names. */
function readRoles(pids: readonly number[]): CpuReading {
  const { total, parts } = readThreads(pids);
  const named = [...parts].map(([id, part]) => {
    const isMain = pids.includes(Number(id));
    const role = isMain ? "main" : ["commit", "checkpoint"].includes(part.name) ? part.name : "runtime";
    return [id, { ...part, name: role }] as const;
  });
  return { total, parts: new Map(named) };
}

async function loadTogether({ servers }: ServersSubject, trial: Trial): Promise<Run> {
  const before = await Promise.all(servers.map(({ server }) => readCommits(server)));
  using sampler = new LockWaitSampler(servers.map(({ server }) => server.pid));
  const runs = await Promise.all(
    servers.map((server, index) => {
      const firstId = trial.firstId + index * Math.floor(idsPerRun / serversMax);
      return runWrk(server, connections / servers.length, { ...trial, firstId }, "consecutive");
    }),
  );
  const after = await Promise.all(servers.map(({ server }) => readCommits(server)));
  const between = (key: keyof Commits) =>
    sum(after.map((commits, index) => commits[key] - (before[index]?.[key] ?? 0)));
  const creates = sum(runs.map(({ figures }) => figures[metrics.creates] ?? 0));
  const requests = sum(runs.map((run) => run.requests ?? 0));
  const perCommit = between("plants") / between("count");
  return {
    figures: {
      [metrics.creates]: creates,
      [metrics.p99]: Math.max(...runs.map(({ figures }) => figures[metrics.p99] ?? Number.NaN)),
      [measured.commits]: creates / perCommit,
      [measured.batch]: perCommit,
      [measured.commitMs]: (between("seconds") / between("count")) * 1_000,
      [measured.lockWait]: sampler.percent,
    },
    requests,
    acknowledged: requests,
  };
}

interface Commits {
  readonly count: number;
  readonly plants: number;
  readonly seconds: number;
}

async function readCommits(server: RunningServer): Promise<Commits> {
  const [count = 0, plants = 0, seconds = 0] = await server.metrics([
    "plantstore_batch_plants_count",
    "plantstore_batch_plants_sum",
    "plantstore_commit_duration_seconds_sum",
  ]);
  return { count, plants, seconds };
}

/** How often each thread is looked at: 500 times in a second. */
const sampleMs = 2;

/** SQLite sleeps between two attempts to take a lock, and the commit thread sleeps for nothing else. */
class LockWaitSampler implements Disposable {
  readonly #threads: readonly string[];
  readonly #timer: Timer;
  #samples = 0;
  #asleep = 0;

  constructor(pids: readonly number[]) {
    this.#threads = pids.flatMap(commitThreads);
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** Of the samples of all commit threads. */
  get percent(): number {
    return (this.#asleep / this.#samples) * 100;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    for (const thread of this.#threads) {
      this.#samples++;
      if (readFileSync(`${thread}/wchan`, "utf8").includes("nanosleep")) this.#asleep++;
    }
  }
}

function commitThreads(pid: number): string[] {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}`);
  return threads.filter((thread) => readFileSync(`${thread}/comm`, "utf8") === "commit\n");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
