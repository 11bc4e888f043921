// Which branches and statements of the code under test an input executes, and about how often. It
// guides the search.
//
// The code is instrumented when Bun loads it, because Bun's own JSON and UTF-8 parsers are under
// test: a fuzzer on another runtime would test that runtime's parsers.

import { plugin } from "bun";
import { createInstrumenter } from "istanbul-lib-instrument";

const variable = "__fuzzCoverage__";

/**
 * The part of istanbul's counters that is read: statements, functions, and the arms of each branch.
 */
interface FileCounters {
  readonly s: Record<string, number>;
  readonly f: Record<string, number>;
  readonly b: Record<string, number[]>;
}

/** Instruments the files that match when they are imported from now on. */
export function instrument(filter: RegExp): void {
  const instrumenter = createInstrumenter({ esModules: true, compact: false, coverageVariable: variable });
  const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" });
  plugin({
    name: "coverage",
    setup(build) {
      build.onLoad({ filter }, async ({ path }) => ({
        contents: instrumenter.instrumentSync(transpiler.transformSync(await Bun.file(path).text()), path),
        loader: "js",
      }));
    },
  });
}

/** The counters of all instrumented files, to be made when all are loaded. */
export class Coverage {
  readonly #groups: (Record<string, number> | number[])[];

  constructor() {
    const files: Record<string, FileCounters> = Reflect.get(globalThis, variable) ?? {};
    this.#groups = Object.values(files).flatMap(({ s, f, b }) => [s, f, ...Object.values(b)]);
    if (this.#groups.length === 0) throw new Error("No instrumented file has been loaded");
  }

  /**
   * What was run since the last call. Each feature is a counter with the size of its count: 1, 2,
   * 3-4, 5-8, …
   */
  take(): number[] {
    const features: number[] = [];
    let base = 0;
    for (const group of this.#groups) {
      const keys = Object.keys(group) as (keyof typeof group & string)[];
      for (const [index, key] of keys.entries()) {
        const count = (group as Record<string, number>)[key] ?? 0;
        if (count === 0) continue;
        features.push((base + index) * bucketsMax + Math.min(bucketsMax - 1, Math.ceil(Math.log2(count))));
        (group as Record<string, number>)[key] = 0;
      }
      base += keys.length;
    }
    return features;
  }
}

/** Counts above 2^10 are one size. */
const bucketsMax = 12;
