// npm run soak -- --minutes N [--rate N]: two servers under good and hostile clients for N minutes.
// One runs undisturbed, and its memory, descriptors and latencies are reported; the other is killed
// and stopped in turn. Both stores are audited at the end; the exit code is 1 if there was a fault.
// The rate is in creates per second and server: by default servers and clients together take about
// half a core.

import { parseArgs } from "node:util";
import { startSoakServer, type Vitals } from "./soak-server.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    rate: { type: "string", default: "100" },
  },
});
const minutes = positive("minutes", values.minutes);
const rate = positive("rate", values.rate);
const looks = 240;
const restarts = 20;

await using untouched = await startSoakServer(rate);
await using restarted = await startSoakServer(rate);

const start = performance.now();
const minutesNow = () => (performance.now() - start) / 60_000;
const seen: Vitals[] = [];
let ends = 0;
while (minutesNow() < minutes) {
  const next = (minutes / looks) * (seen.length + 1);
  await Bun.sleep(Math.max(0, next - minutesNow()) * 60_000);
  seen.push(await untouched.vitals());
  if (minutesNow() < (minutes / restarts) * (ends + 1)) continue;
  await restarted.restart(ends++ % 2 === 0 ? "SIGKILL" : "SIGTERM");
}
// One after the other, as each holds its whole store in memory.
await untouched.audit();
await restarted.audit();

const MB = 1e6;
const residentMb = seen.map(({ residentBytes }) => residentBytes / MB);
const descriptors = seen.map((vitals) => vitals.descriptors);
const median = seen.map(({ latenciesMs }) => quantile(latenciesMs, 0.5));
const late = seen.map(({ latenciesMs }) => quantile(latenciesMs, 0.99));

report(`${minutes} minutes, up to ${rate} creates a second on each server`);
const quarter = Math.ceil(seen.length / 4);
report("| The untouched server | first quarter, median | last quarter, median | most |");
report("| --- | --- | --- | --- |");
for (const [name, numbers] of Object.entries({
  "resident memory, MB": residentMb,
  descriptors,
  "create, median ms": median,
  "create, 99 of 100, ms": late,
})) {
  const cells = [numbers.slice(0, quarter), numbers.slice(-quarter)].map((some) => quantile(some, 0.5));
  report(
    `| ${[name, ...cells.map(round), round(Math.max(...numbers.filter(Number.isFinite)))].join(" | ")} |`,
  );
}
for (const [name, server] of Object.entries({ untouched, restarted })) {
  const { load, counts, faults } = server;
  report(
    `${name}: ${load.acknowledged.size} plants acknowledged and found, ` +
      `${load.unanswered.length} creates unanswered, ${counts.hostileRequests} hostile requests, ` +
      `${counts.restarts} restarts, ${faults.length} faults`,
  );
  for (const fault of faults.slice(0, 20)) report(`  ${fault}`);
}
if (untouched.faults.length + restarted.faults.length > 0 || untouched.load.unanswered.length > 0)
  process.exitCode = 1;

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new RangeError(`--${name} must be a number above 0, not ${text}`);
  return number;
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.filter(Number.isFinite).toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function round(number: number): string {
  return String(Math.round(number * 10) / 10);
}

function report(text: string): void {
  process.stdout.write(`${text}\n`);
}
