// Processor time a request, by thread: what a create costs, wherever the work is done.

import { type CpuTime, minus, noCpuTime, plus } from "./accounting.ts";
import { type Measurement, runsOf } from "./rounds.ts";
import { markdownTable } from "./table.ts";

/** Threads that use less of a request are summed up as others. */
const shownUsMin = 0.05;

/** Microseconds that a process used on each request of one run. */
export function cpuUsPerRequest({ cpu, requests }: Measurement): number {
  return sum(cpu.total) / requests;
}

/** A table of the processor time a request over all rounds, by contender and thread. */
export function cpuTable(
  measurements: readonly Measurement[],
  contenders: readonly string[],
  connections: readonly number[],
): string {
  const rows = connections.flatMap((count) =>
    contenders.flatMap((contender) =>
      threadRows(runsOf(measurements, contender, count)).map(([thread, time]) => [
        `${contender}: ${thread}`,
        String(count),
        ...[time.userUs, time.systemUs, sum(time)].map((us) => us.toFixed(2)),
      ]),
    ),
  );
  return markdownTable(["µs a request", "connections", "user", "system", "both"], rows);
}

/** Threads by name, the largest first, then all others, then the whole process; it alone if it has one thread. */
function threadRows(runs: readonly Measurement[]): [thread: string, time: CpuTime][] {
  const requests = runs.reduce((count, run) => count + run.requests, 0);
  const perRequest = ({ userUs, systemUs }: CpuTime): CpuTime => ({
    userUs: userUs / requests,
    systemUs: systemUs / requests,
  });
  const total = perRequest(runs.map(({ cpu }) => cpu.total).reduce(plus, noCpuTime));

  const byName = new Map<string, CpuTime>();
  for (const [name, time] of runs.flatMap(({ cpu }) => Object.entries(cpu.byName)))
    byName.set(name, plus(byName.get(name) ?? noCpuTime, time));
  const shown = [...byName]
    .map(([name, time]): [string, CpuTime] => [`thread ${name}`, perRequest(time)])
    .filter(([, time]) => sum(time) >= shownUsMin)
    .sort(([, one], [, other]) => sum(other) - sum(one));

  // By subtraction, so that threads which ended within a run are counted too.
  const others = minus(total, shown.map(([, time]) => time).reduce(plus, noCpuTime));
  if (sum(others) >= shownUsMin) shown.push(["other threads", others]);
  return byName.size > 1 ? [...shown, ["whole process", total]] : [["whole process", total]];
}

function sum({ userUs, systemUs }: CpuTime): number {
  return userUs + systemUs;
}
