// The suite "start": from exec to the first answered create, and commands that only print.

import { reservePort } from "../../test/support/ports.ts";
import type { CpuTime } from "../cpu-usage.ts";
import { runProgram, ServerProcess } from "../processes.ts";
import { countSqliteRows } from "../sqlite.ts";
import { untilCreates } from "../subjects/http.ts";
import { createToken } from "../subjects/plantstore.ts";
import type { Load, Plantstore, Run, Scenario, Setup, Subject, Suite } from "../suite.ts";

export const startSuite: Suite = {
  name: "start",
  title: "Start",
  summary:
    "From exec to the first create that is answered with 200, on a store that exists, by a client that tries again every millisecond; and commands from exec to exit. Processor time is that of all threads, until the answer or the exit.",
  programs: {},
  defaults: { rounds: 15, seconds: 1 },
  setUp: starts,
};

interface Starter extends Subject {
  readonly version: Plantstore;
  readonly database: string;
  readonly token: string;
}

const elapsed = "ms elapsed";
const processor = "processor ms";

async function starts({ folder, versions }: Setup): Promise<Scenario<Starter>> {
  const subjects: Starter[] = [];
  for (const [index, version] of versions.entries()) {
    const name = `plantstore${version.suffix}`;
    const file = `${folder}/store-${index}.db`;
    const database = `sqlite:${file}`;
    const token = await createToken(version, database);
    const countRows = () => countSqliteRows(file);
    subjects.push({ name, version, database, token, countRows, durability: "journal_mode wal" });
  }
  const serve = "serve";
  const printing = ["--version", "--help"];
  const once = { [serve]: { atMost: 75 } };
  const quick = Object.fromEntries(printing.map((flag) => [flag, { atMost: 100 }]));
  const [subject = ""] = subjects.map(({ name }) => name);
  return {
    name: "Start",
    subjects,
    loads: [{ name: serve, warmsUp: true, run: startServer }, ...printing.map(runPrinting)],
    metrics: [elapsed, processor],
    claims: [
      { subject, metric: elapsed, thresholds: once },
      { subject, metric: processor, thresholds: quick },
    ],
  };
}

/** From exec to the first create that is answered with 200. */
async function startServer(
  { name, version, database, token }: Starter,
  { firstId }: { firstId: number },
): Promise<Run> {
  const port = reservePort();
  const target = { name, token, url: `http://127.0.0.1:${port}` };
  const start = performance.now();
  const listener = ["--port", String(port), "--admin-port", "0"];
  await using server = new ServerProcess([version.command, "serve", "--database", database, ...listener]);
  await untilCreates(target, firstId, 1);
  const ms = performance.now() - start;
  // Killed, so that its processor time is without that of an orderly end.
  return toRun(ms, await server.kill(), 1);
}

function runPrinting(flag: string): Load<Starter> {
  return {
    name: flag,
    warmsUp: true,
    run: async ({ version }) => {
      const { seconds, cpu } = await runProgram([version.command, flag]);
      return toRun(seconds * 1_000, cpu, 0);
    },
  };
}

function toRun(ms: number, { userUs, systemUs }: CpuTime, acknowledged: number): Run {
  return { figures: { [elapsed]: ms, [processor]: (userUs + systemUs) / 1_000 }, acknowledged };
}
