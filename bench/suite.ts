// The declarations of a suite: subjects, loads, metrics, and claims with their thresholds.

import type { CpuReading, CpuTime } from "./cpu-usage.ts";

/** Names of metrics that several suites have. */
export const metrics = {
  creates: "creates/s",
  p50: "p50 ms",
  p99: "p99 ms",
  cpu: "µs/request",
  /** Of all threads and processes together. */
  userCpu: "user µs, all",
  systemCpu: "system µs, all",
  memory: "MB resident",
} as const;

/** Ids reserved for each run: at 100,000 creates/s, enough for more than 15 minutes. */
export const idsPerRun = 10 ** 8;

export interface Suite {
  /** As the command line names it. */
  readonly name: string;
  readonly title: string;
  /** The comparison, for the page and for the help. */
  readonly summary: string;
  /** Programs that the suite needs, each with its Debian package. */
  readonly programs: Readonly<Record<string, string>>;
  /** The flags that replace parts of it. */
  readonly defaults: { readonly rounds: number; readonly seconds: number; readonly plants?: number };
  /** Returns what to measure; undefined, with a reason skipped, where that is impossible. */
  readonly setUp: (setup: Setup) => Promise<Scenario | undefined>;
}

/** The command of a commit. */
export interface Plantstore {
  readonly command: string;
  /** Ends the names of its subjects: nothing for this commit. */
  readonly suffix: string;
}

/** The arguments of setUp. */
export interface Setup {
  /** Unwound when the scenario has ended. */
  readonly stack: AsyncDisposableStack;
  /** For the scenario's files, removed when it has ended. */
  readonly folder: string;
  /** This commit, then the one of --against, if there is one. */
  readonly versions: readonly [Plantstore, ...Plantstore[]];
  /** The number of plants that --plants gives. */
  readonly plants: number;
  /** The first of `idsPerRun` ids with 13 digits that no other run uses: each create is new. */
  readonly nextFirstId: () => number;
  readonly progress: (line: string) => void;
  /** Records what cannot be measured here, and why. */
  readonly skip: (name: string, reason: string) => void;
  readonly recordVersion: (name: string, version: string) => void;
}

/** Subjects that are measured under the same loads, round by round in turns. */
export interface Scenario<S extends Subject = Subject> {
  readonly name: string;
  readonly subjects: readonly S[];
  /** In this order in each round. */
  readonly loads: readonly Load<S>[];
  /** The metrics that the report shows, in this order. Others are recorded only. */
  readonly metrics: readonly string[];
  readonly claims: readonly Claim[];
}

export interface Subject {
  /** One that ends in " at COMMIT" is compared with the one without. */
  readonly name: string;
  /** How durable an acknowledged create is, as it was found. */
  readonly durability?: string;
  /** The processor time so far of all its processes, without the load generator. */
  readCpu?(): CpuReading;
  residentMb?(): number;
  /** The rows of its store, which are compared with the acknowledged creates. */
  countRows?(): number | Promise<number>;
  /** Stops it before its rows are counted. Throws if it does not stop cleanly. */
  stop?(): Promise<void>;
}

export interface Load<S extends Subject> {
  readonly name: string;
  /** Fewer rounds than the others. */
  readonly rounds?: number;
  /** Also run once by each subject before the first round. */
  readonly warmsUp?: boolean;
  /** Runs before, and is not measured. */
  prepare?(subject: S, trial: Trial): Promise<void>;
  run(subject: S, trial: Trial): Promise<Run>;
}

/** One run of one subject under one load. */
export interface Trial {
  readonly seconds: number;
  readonly firstId: number;
  /** The lowest figure of all subjects under an earlier load of the same round. */
  readonly lowest: (load: string, metric: string) => number;
}

export interface Run {
  /** By metric. */
  readonly figures: Readonly<Record<string, number>>;
  /** Requests that were answered: the processor time is divided by them. */
  readonly requests?: number;
  /** The creates of which the store must have a row. */
  readonly acknowledged?: number;
  /** Processor time of the load generator. */
  readonly loadCpu?: CpuTime;
}

export type Threshold = { readonly atLeast: number } | { readonly atMost: number };

/** A metric of a subject, or its ratio to that of another subject, taken round by round. */
export interface Claim {
  readonly subject: string;
  readonly metric: string;
  /** The other subject. */
  readonly over?: string;
  /** By default the loads that have a threshold, or all if none has one. */
  readonly loads?: readonly string[];
  /** By load. */
  readonly thresholds?: Readonly<Record<string, Threshold>>;
}
