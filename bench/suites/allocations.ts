// The suite "allocations": the objects and promises that a create costs the main thread.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { wrkLoads } from "../loads/wrk.ts";
import { type PlantstoreSubject, startPlantstore } from "../subjects/plantstore.ts";
import { type Claim, type Load, metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const allocationsSuite: Suite = {
  name: "allocations",
  title: "Allocations",
  summary:
    "Objects in JavaScript's heap and promises that the main thread allocates for a create, counted by a server without garbage collection.",
  defaults: { rounds: 3, seconds: 1 },
  scenarios: [allocations],
};

const counter = new URL("../allocation-counter.ts", import.meta.url).pathname;
const [objects, promises] = ["objects/create", "promises/create"];

interface CountedSubject extends PlantstoreSubject {
  /** Objects since the server's start, by type. */
  countObjects(): Promise<Readonly<Record<string, number>>>;
}

async function allocations(setup: Setup): Promise<Scenario<CountedSubject>> {
  const subjects: CountedSubject[] = [];
  for (const version of setup.versions) {
    const file = `${setup.folder}/allocations-${subjects.length}.json`;
    const env = {
      BUN_OPTIONS: `--preload ${counter}`,
      BUN_JSC_useGC: "0",
      ALLOCATION_COUNTS: file,
    };
    const subject = await startPlantstore(setup, version, { env });
    subjects.push({ ...subject, countObjects: () => countObjects(subject.server.pid, file) });
  }
  const subject = "plantstore";
  return {
    name: "Allocations of a create",
    subjects,
    loads: wrkLoads(1, 64).map(countAllocations),
    metrics: [objects, promises, ...shownTypes.map(typeMetric), metrics.creates],
    claims: [
      { subject, metric: objects, loads: ["64 connections"] },
      // The runner adds that of the first metric.
      ...setup.versions
        .slice(1)
        .map(
          ({ suffix }): Claim => ({ subject, metric: promises, over: { subject: `${subject}${suffix}` } }),
        ),
    ],
  };
}

/** The other types are in the JSON. */
const shownTypes = [
  ...["string", "Object", "Array", "Function", "JSLexicalEnvironment", "AsyncFunctionGenerator"],
  ...["Request", "Response", "Headers"],
];

/** Types of which a create has fewer are left out; the sum counts them. */
const perCreateMin = 0.005;

function typeMetric(type: string): string {
  return `${type}/create`;
}

function countAllocations(load: Load<PlantstoreSubject>): Load<CountedSubject> {
  return {
    ...load,
    run: async (subject, trial) => {
      const before = await subject.countObjects();
      const run = await load.run(subject, trial);
      const after = await subject.countObjects();
      const perCreate = Object.entries(after).map(
        ([type, count]) => [type, (count - (before[type] ?? 0)) / (run.requests ?? 0)] as const,
      );
      const shown = perCreate.filter(([, count]) => count >= perCreateMin);
      const figures = {
        [objects]: perCreate.reduce((sum, [, count]) => sum + count, 0),
        [promises]: perCreate.find(([type]) => type === "Promise")?.[1] ?? 0,
        ...Object.fromEntries(shown.map(([type, count]) => [typeMetric(type), count])),
      };
      return { ...run, figures: { ...run.figures, ...figures } };
    },
  };
}

/** How long a server may take to count: some 10 million objects. */
const countMsMax = 30_000;

async function countObjects(pid: number, file: string): Promise<Readonly<Record<string, number>>> {
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  for (const end = performance.now() + countMsMax; !existsSync(file); await Bun.sleep(10))
    if (performance.now() > end) throw new Error("the server did not count its objects");
  return JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, number>>;
}
