// Where the processor time goes when several parties share a machine: who is the limit.

import { type CpuTime, noCpuTime, plus } from "./accounting.ts";
import { type Measurement, runsOf } from "./rounds.ts";
import { spreadOf, spreadText } from "./spread.ts";
import { figure, markdownTable } from "./table.ts";

/** Which runs a table tells of, by contenders of these names. */
interface PartyRuns {
  readonly measurements: readonly Measurement[];
  readonly connections: number;
  readonly contenders: readonly string[];
}

/** Microseconds of each party's processor time a request, over all rounds. */
export function partyUsTable({ measurements, connections, contenders }: PartyRuns): string {
  return partyTable("µs a request", { measurements, connections, contenders }, ({ requests }) => requests);
}

/** How many processors each party kept busy, over all rounds. */
export function partyCoresTable({ measurements, connections, contenders }: PartyRuns): string {
  const us = ({ requests, perSecond }: Measurement) => (requests / perSecond) * 1e6;
  return partyTable("processors busy", { measurements, connections, contenders }, us);
}

/** Creates in one transaction of the database. */
export function batchSizeTable({ measurements, connections, contenders }: PartyRuns): string {
  const rows = contenders.map((contender) => {
    const sizes = runsOf(measurements, contender, connections).map(
      ({ requests, transactions = Number.NaN }) => requests / transactions,
    );
    return [contender, spreadText(spreadOf(sizes), figure)];
  });
  return markdownTable([`creates a transaction, ${connections} connections`, "median (range)"], rows);
}

function partyTable(
  title: string,
  { measurements, connections, contenders }: PartyRuns,
  divisorOf: (run: Measurement) => number,
): string {
  const byContender = contenders.map((contender) => {
    const runs = runsOf(measurements, contender, connections);
    const divisor = runs.map(divisorOf).reduce((one, other) => one + other, 0);
    return { contender, times: sumByParty(runs), divisor };
  });
  const parties = [...new Set(byContender.flatMap(({ times }) => [...times.keys()]))];
  const rows = byContender.map(({ contender, times, divisor }) => {
    const cells = parties.map((party) => {
      const time = times.get(party);
      return time === undefined ? "" : figure(sum(time) / divisor);
    });
    const all = [...times.values()].map(sum).reduce((one, other) => one + other, 0);
    return [contender, ...cells, figure(all / divisor)];
  });
  return markdownTable([`${title}, ${connections} connections`, ...parties, "all"], rows);
}

function sumByParty(runs: readonly Measurement[]): Map<string, CpuTime> {
  const times = new Map<string, CpuTime>();
  for (const { cpu, loadCpu } of runs) {
    for (const [party, time] of Object.entries({ "load generator": loadCpu, ...cpu.byName }))
      times.set(party, plus(times.get(party) ?? noCpuTime, time));
  }
  return times;
}

function sum({ userUs, systemUs }: CpuTime): number {
  return userUs + systemUs;
}
