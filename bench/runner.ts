// Runs a suite: sets up scenarios, measures subjects in turn, audits stores, and summarizes.

import { pathOf } from "../test/support/programs.ts";
import { TemporaryFolder } from "../test/support/server.ts";
import { checkOutCommit } from "./commits.ts";
import { type CpuUse, cpuBetween } from "./cpu-usage.ts";
import { readEnvironment } from "./environment.ts";
import { printedVersion } from "./processes.ts";
import type { Audit, ClaimResult, Result, ScenarioResult, Series } from "./result.ts";
import { thisCommit } from "./subjects/plantstore.ts";
import {
  type Claim,
  idsPerRun,
  type Load,
  metrics,
  type Run,
  type Scenario,
  type Setup,
  type Subject,
  type Suite,
} from "./suite.ts";
import { summarize } from "./summary.ts";

export interface RunOptions {
  readonly command: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly plants: number | undefined;
  /** A second commit, whose server is measured in the same rounds. */
  readonly against: string | undefined;
  /** Of the suite's loads and subjects only those whose names match; the subjects start all the same. */
  readonly loads: RegExp;
  readonly subjects: RegExp;
  readonly progress: (line: string) => void;
}

/** The figures of one subject under one load in one round. */
interface Sample {
  readonly subject: string;
  readonly load: string;
  readonly round: number;
  readonly figures: Readonly<Record<string, number>>;
}

export async function runSuite(suite: Suite, options: RunOptions): Promise<Result> {
  const { command, rounds, seconds, plants, against, progress } = options;
  assertInstalled(suite);
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(new TemporaryFolder()).path;
  const environment = readEnvironment(folder);
  const versions: Record<string, string> = { Bun: Bun.version };
  for (const program of Object.keys(suite.programs))
    versions[program] = printedVersion([program, "--version"]);
  if (against !== undefined) progress(`installing ${against}`);
  const others = against === undefined ? [] : [await checkOutCommit(against, folder)];
  const skipped: Result["skipped"][number][] = [];
  // 13 digits, which keeps requests the same length and ids exact as double-precision numbers.
  let nextFirstId = 10 ** 12;
  const setup: Setup = {
    stack,
    folder,
    versions: [thisCommit, ...others],
    plants: plants ?? 0,
    nextFirstId: () => {
      nextFirstId += idsPerRun;
      return nextFirstId;
    },
    progress,
    skip: (name, reason) => {
      progress(`skipped: ${name}: ${reason}`);
      skipped.push({ name, reason });
    },
    recordVersion: (name, version) => {
      versions[name] = version;
    },
  };
  const scenario = await suite.setUp(setup);
  const scenarios =
    scenario === undefined ? [] : [await runScenario(chosenOf(scenario, options), setup, rounds, seconds)];
  const counts = { rounds, seconds, ...(plants === undefined ? {} : { plants }) };
  return { suite: suite.name, command, environment, versions, ...counts, skipped, scenarios };
}

function chosenOf(scenario: Scenario, options: RunOptions): Scenario {
  const loads = scenario.loads.filter(({ name }) => options.loads.test(name));
  const subjects = scenario.subjects.filter(({ name }) => options.subjects.test(name));
  const all = (of: readonly { readonly name: string }[]) => of.map(({ name }) => name).join(", ");
  if (loads.length === 0) throw new Error(`--loads matches none of ${all(scenario.loads)}`);
  if (subjects.length === 0) throw new Error(`--subjects matches none of ${all(scenario.subjects)}`);
  return { ...scenario, loads, subjects };
}

/** Throws an error that names the missing programs and the command that installs them. */
function assertInstalled({ name, programs }: Suite): void {
  const missing = Object.entries(programs).filter(([program]) => pathOf(program) === null);
  if (missing.length === 0) return;
  const packages = missing.map(([, debianPackage]) => debianPackage).join(" ");
  const names = missing.map(([program]) => program).join(", ");
  throw new Error(`${name} needs ${names}; run: sudo apt-get install --yes ${packages}`);
}

async function runScenario(
  scenario: Scenario,
  setup: Setup,
  rounds: number,
  seconds: number,
): Promise<ScenarioResult> {
  const { name, subjects, loads } = scenario;
  const samples: Sample[] = [];
  const acknowledged = new Map<Subject, number>();

  async function measure(subject: Subject, load: Load<Subject>, round: number): Promise<Sample> {
    const lowest = (load: string, metric: string) =>
      Math.min(
        ...samples
          .filter((sample) => sample.load === load && sample.round === round)
          .map(({ figures }) => figures[metric] ?? Number.NaN),
      );
    const trial = { seconds, firstId: setup.nextFirstId(), lowest };
    await load.prepare?.(subject, trial);
    const before = subject.readCpu?.();
    const run = await load.run(subject, trial);
    const cpu = before === undefined ? undefined : cpuBetween(before, subject.readCpu?.() ?? before);
    acknowledged.set(subject, (acknowledged.get(subject) ?? 0) + (run.acknowledged ?? 0));
    const memory = subject.residentMb === undefined ? {} : { [metrics.memory]: subject.residentMb() };
    const all = Object.entries({ ...run.figures, ...memory, ...cpuFigures(run, cpu) });
    // A percentile of zero samples is NaN.
    const figures = Object.fromEntries(all.filter(([, figure]) => Number.isFinite(figure)));
    return { subject: subject.name, load: load.name, round, figures };
  }

  for (const load of loads.filter(({ warmsUp }) => warmsUp)) {
    for (const subject of subjects) {
      setup.progress(`${name}: warm-up of ${subject.name}`);
      await measure(subject, load, 0);
    }
  }
  for (let round = 1; round <= rounds; round++) {
    for (const load of loads.filter((load) => round <= (load.rounds ?? rounds))) {
      for (const subject of rotated(subjects, round)) {
        const sample = await measure(subject, load, round);
        samples.push(sample);
        const [metric = ""] = scenario.metrics.filter((metric) => sample.figures[metric] !== undefined);
        const figure = `${sample.figures[metric]?.toPrecision(4)} ${metric}`;
        setup.progress(`${name}: round ${round} of ${rounds}, ${load.name}, ${subject.name}: ${figure}`);
      }
    }
  }
  for (const subject of subjects) await subject.stop?.();
  const audits: Audit[] = [];
  for (const [{ name, countRows }, count] of acknowledged) {
    if (count > 0 && countRows !== undefined) audits.push(audit(name, count, await countRows()));
  }
  return {
    name,
    metrics: scenario.metrics,
    durability: Object.fromEntries(
      subjects.flatMap(({ name, durability }) => (durability === undefined ? [] : [[name, durability]])),
    ),
    audits,
    claims: claimResults(scenario, samples),
    series: seriesOf(scenario, samples),
  };
}

/**
 * Throws if an acknowledged create is missing. There may be more rows than were acknowledged: wrk
 * ends without waiting for its last responses.
 */
function audit(store: string, acknowledged: number, rows: number): Audit {
  if (rows < acknowledged)
    throw new Error(`${store} acknowledged ${acknowledged} creates, but has ${rows} rows`);
  return { store, acknowledged, rows };
}

/** Rotates the order each round, so that no subject is always the first. */
function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

/** Threads and groups that use less of a request than this are left out; the total counts them. */
const shownUsMin = 0.05;

/** Processor time a request: in total, and by thread or group in user and in system mode. */
function cpuFigures({ requests = 0, loadCpu }: Run, cpu: CpuUse | undefined): Record<string, number> {
  if (requests === 0 || cpu === undefined) return {};
  const { userUs, systemUs } = cpu.total;
  const figures: Record<string, number> = { [metrics.cpu]: (userUs + systemUs) / requests };
  const parts = { ...cpu.byName, all: cpu.total, ...(loadCpu && { "load generator": loadCpu }) };
  for (const [part, { userUs, systemUs }] of Object.entries(parts)) {
    if ((userUs + systemUs) / requests < shownUsMin) continue;
    figures[`user µs, ${part}`] = userUs / requests;
    figures[`system µs, ${part}`] = systemUs / requests;
  }
  return figures;
}

function seriesOf({ subjects, loads }: Scenario, samples: readonly Sample[]): Series[] {
  return loads.flatMap(({ name: load }) =>
    subjects.flatMap(({ name: subject }) => {
      const rounds = samples.filter((sample) => sample.subject === subject && sample.load === load);
      if (rounds.length === 0) return [];
      const names = [...new Set(rounds.flatMap(({ figures }) => Object.keys(figures)))];
      // A thread that was not there in a round, or used too little, counts as 0 in it.
      const fallback = (metric: string) => (metric.includes("µs, ") ? [0] : []);
      const values = (metric: string) => rounds.flatMap(({ figures }) => figures[metric] ?? fallback(metric));
      const byName = Object.fromEntries(names.map((name) => [name, summarize(values(name))]));
      return [{ load, subject, metrics: byName }];
    }),
  );
}

function claimResults(scenario: Scenario, samples: readonly Sample[]): ClaimResult[] {
  const claims = [...scenario.claims, ...againstClaims(scenario)];
  const all = scenario.loads.map(({ name }) => name);
  return claims.flatMap((claim) => {
    const { subject, metric, over, thresholds } = claim;
    const loads = claim.loads ?? (thresholds && Object.keys(thresholds)) ?? all;
    return loads.flatMap((load) => {
      const values = claimValues(claim, load, samples);
      if (values.length === 0) return [];
      const name = `${subject}, ${load}: ${metric}${over === undefined ? "" : `, times that of ${over}`}`;
      const threshold = thresholds?.[load];
      return [{ name, ...(threshold === undefined ? {} : { threshold }), ...summarize(values) }];
    });
  });
}

/** Ratios are taken per round, so that noise affects both sides. Empty if one was not measured. */
function claimValues({ subject, metric, over }: Claim, load: string, samples: readonly Sample[]): number[] {
  const own = samples.filter((sample) => sample.subject === subject && sample.load === load);
  return own.flatMap(({ round, figures: { [metric]: figure } }) => {
    if (figure === undefined || over === undefined) return figure ?? [];
    const other = samples.find((one) => one.subject === over && one.load === load && one.round === round);
    return other?.figures[metric] === undefined ? [] : figure / other.figures[metric];
  });
}

/** Each subject against itself at the commit of --against, by creates/s and processor time. */
function againstClaims({ subjects, metrics: shown }: Scenario): Claim[] {
  const compared = shown.filter((metric, index) => index === 0 || metric === metrics.cpu);
  const names = subjects.map(({ name }) => name);
  return names.flatMap((subject) =>
    names
      .filter((other) => other.startsWith(`${subject} at `))
      .flatMap((other) => compared.map((metric) => ({ subject, metric, over: other }))),
  );
}
