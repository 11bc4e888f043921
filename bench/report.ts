// A result as Markdown: the report of a run, and docs/benchmarks.md with the claims of all suites.

import { type ClaimResult, isMet, type Result, type ScenarioResult, type Series } from "./result.ts";
import type { Suite } from "./suite.ts";
import { formatNumber, formatSummary } from "./summary.ts";

/** Everything that a run measured, for standard output. */
export function renderReport({ title }: Suite, result: Result): string {
  const scenarios = result.scenarios.map((scenario) =>
    [`## ${scenario.name}`, claimsTable(scenario.claims), figuresTable(scenario), cpuTable(scenario)]
      .filter((part) => part !== "")
      .join("\n\n"),
  );
  return `# ${title}\n\n${scenarios.join("\n\n")}\n\n${environmentLines(result).join("\n")}\n`;
}

/** The page between its title and its table. */
const introduction = `A figure is a median (min–max) over rounds in which the subjects took turns. Ratios are taken round
by round: they hold from machine to machine and from hour to hour, which absolute figures do not. A
load well above 0 before the start means that other work took its share of the processor.`;

const meaning = `## What the figures mean

- **rust-group-commit** is this service as a Rust programmer writes it, with axum, rusqlite and a
  group commit: what a runtime without garbage collection gains.
- **bun-bare** reads the body and answers a constant: what any server on this runtime can reach.
- **fastify** and **express + pg** commit each create by itself, as most services do.
- **nginx** answers a static 200: what the kernel and the load generator leave.
- **µs/request** is processor time of all threads. It says more than a rate on a busy machine.
- **Half of the peak** is a schedule that does not wait for responses; latency counts from when a
  request was due, also where it was sent late.
- **Large store** has random ids, so that each create changes another page of the file.
- **pgbench** is a prepared single-row INSERT over 64 connections, without a server in front of it.
- Every store is audited: it has a row for each acknowledged create. The settings of durability and
  the fsyncs that were counted are in the results.`;

/** docs/benchmarks.md from the committed results. */
export function renderPage(suites: readonly Suite[], results: ReadonlyMap<string, Result>): string {
  const measured = suites.flatMap((suite) => results.get(suite.name) ?? []);
  const missing = suites.filter(({ name }) => !results.has(name)).map(({ name }) => `\`${name}\``);
  const claims = measured.flatMap(({ suite, scenarios }) =>
    scenarios.flatMap(({ claims }) => claims.map((claim) => [...claimCells(claim), suite])),
  );
  const runs = measured.map(({ suite, environment }) => {
    const { commit, date, machine, loadBefore } = environment;
    const { processor, cores, kernel, fileSystem } = machine;
    const on = `${processor}, ${cores} cores, Linux ${kernel}, ${fileSystem}`;
    return [`[${suite}](../bench/results/${suite}.json)`, commit, date, on, String(loadBefore)];
  });
  return `# Benchmarks

${introduction}

![Creates a second of this server and of others, over 1, 64 and 256 connections](images/creates.svg)

${markdownTable([...claimHead, "suite"], claims)}

${meaning}

## How to repeat them

\`\`\`sh
${measured.map(({ command }) => command).join("\n")}
npm run bench -- report
\`\`\`

The last command writes this page and its plot. \`npm run bench -- create --against COMMIT\` compares
two commits, and \`npm run bench\` lists the suites and their flags.${
    missing.length === 0 ? "" : `\n\nNot measured at present: ${missing.join(", ")}.`
  }

${markdownTable(["result", "commit", "date", "machine", "load before"], runs)}
`;
}

const claimHead = ["claim", "median (min–max)", "threshold", "verdict"];

function claimsTable(claims: readonly ClaimResult[]): string {
  return claims.length === 0 ? "" : markdownTable(claimHead, claims.map(claimCells));
}

function claimCells(claim: ClaimResult): string[] {
  const { name, threshold } = claim;
  const met = isMet(claim);
  const verdict = met === undefined ? "" : met ? "met" : "missed";
  return [name, formatSummary(claim), threshold === undefined ? "" : formatThreshold(threshold), verdict];
}

function formatThreshold(threshold: NonNullable<ClaimResult["threshold"]>): string {
  return "atLeast" in threshold ? `at least ${threshold.atLeast}` : `at most ${threshold.atMost}`;
}

function figuresTable({ metrics, series }: ScenarioResult): string {
  const shown = metrics.filter((metric) => series.some(({ metrics }) => metric in metrics));
  const rows = series.map(({ load, subject, metrics }) => [
    `${load}: ${subject}`,
    ...shown.map((metric) => (metrics[metric] === undefined ? "" : formatSummary(metrics[metric]))),
  ]);
  return markdownTable(["median (min–max)", ...shown], rows);
}

/** Processor time a request of each thread or group of processes. */
function cpuTable({ series }: ScenarioResult): string {
  const rows = series.flatMap(({ load, subject, metrics }: Series) =>
    Object.keys(metrics)
      .filter((metric) => metric.startsWith("user µs, "))
      .map((metric) => {
        const part = metric.replace("user µs, ", "");
        const [user, system] = [metrics[metric], metrics[`system µs, ${part}`]].map((us) => us?.median ?? 0);
        return { part, user: user ?? 0, system: system ?? 0 };
      })
      .sort((one, other) => other.user + other.system - one.user - one.system)
      .map(({ part, user, system }) => [
        `${load}: ${subject}, ${part}`,
        ...[user, system, user + system].map(formatNumber),
      ]),
  );
  return rows.length === 0 ? "" : markdownTable(["µs/request, medians", "user", "system", "both"], rows);
}

/** Commit, machine, load, versions, durability and the rows that were verified, as a list. */
function environmentLines(result: Result): string[] {
  const { environment, versions, rounds, seconds, plants, scenarios, skipped } = result;
  const { date, commit, machine, loadBefore } = environment;
  const subjectsByDurability = Map.groupBy(
    scenarios.flatMap(({ durability }) => Object.entries(durability)),
    ([, durability]) => durability,
  );
  const durability = [...subjectsByDurability].map(([text, subjects]) => {
    const names = new Set(subjects.map(([subject]) => subject));
    return `${[...names].join(", ")}: ${text}`;
  });
  const audits = scenarios.flatMap(({ audits }) => audits);
  return [
    `- Commit ${commit}, ${date}; ${machine.processor}, ${machine.cores} cores, Linux ${machine.kernel}, ${machine.fileSystem}; load ${loadBefore} before the start`,
    `- ${Object.entries(versions)
      .map((version) => version.join(" "))
      .join(", ")}`,
    `- Rounds: ${rounds}, runs of ${seconds} s${plants === undefined ? "" : `, ${formatNumber(plants)} plants`}`,
    ...(durability.length === 0 ? [] : [`- ${durability.join("; ")}`]),
    ...(audits.length === 0 ? [] : [`- ${audits.map(auditText).join("; ")}`]),
    ...skipped.map(({ name, reason }) => `- Skipped: ${name} (${reason})`),
  ];
}

function auditText({ store, acknowledged, rows }: ScenarioResult["audits"][number]): string {
  return `${store} acknowledged ${acknowledged} and has ${rows} rows`;
}

/** A table whose first column is aligned to the left and all others, figures, to the right. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, column) =>
      column === 0 ? (cells[column] ?? "").padEnd(width) : (cells[column] ?? "").padStart(width),
    );
    return `| ${padded.join(" | ")} |`;
  };
  const rule = widths.map((width, column) => "-".repeat(width - 1) + (column === 0 ? "-" : ":"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
