// A result as Markdown: the report of a run, and docs/benchmarks.md with the figures of all suites.

import { type ClaimResult, isMet, type Result, type ScenarioResult, type Series } from "./result.ts";
import { metrics, type Suite } from "./suite.ts";
import { formatNumber, formatSummary, summarize } from "./summary.ts";

/** Everything that a run measured, for standard output. */
export function renderReport({ title }: Suite, result: Result): string {
  const scenarios = result.scenarios.map((scenario) =>
    [`## ${scenario.name}`, claimsTable(scenario.claims), figuresTable(scenario), cpuTable(scenario)]
      .filter((part) => part !== "")
      .join("\n\n"),
  );
  return `# ${title}\n\n${scenarios.join("\n\n")}\n\n${environmentLines(result).join("\n")}\n`;
}

/** docs/benchmarks.md from the committed results. */
export function renderPage(results: ReadonlyMap<string, Result>): string {
  const measured = pageSuites.flatMap((name) => results.get(name) ?? []);
  const rows = measured.flatMap(({ scenarios }) => scenarios.flatMap(pageRows));
  const operations = results.get("operations");
  const all = operations === undefined ? measured : [...measured, operations];
  const byMachine = Map.groupBy(all, ({ environment }) => machineText(environment.machine));
  const machines = [...byMachine].map(([machine, results]) => {
    const runs = results.map(({ suite, environment: { commit, date, loadBefore } }) => {
      const day = date.slice(0, "2026-11-25".length);
      return `[${suite}](../bench/results/${suite}.json) (${day}, commit ${commit}, load ${loadBefore})`;
    });
    return `${machine}: ${runs.join(", ")}`;
  });
  return `# Benchmarks

A figure is the median over rounds in which the subjects took turns. The ratio divides the creates of
the first subject under the same load by the subject's own, round by round; it carries over to other
machines better than the figures, but not exactly. Every store had a row for each acknowledged create.

![Creates a second of this server and of others, over 1, 64 and 256 connections](images/creates.svg)

${generated(markdownTable(["", ...pageMetrics, "ratio"], rows))}

**rust-group-commit** is the same design in Rust, with axum and rusqlite. **bun-bare** reads the body
and answers a constant: the limit of any server on this runtime. **fastify** and **express + pg** commit
each create by itself. **nginx** answers a static 200. The large stores have 20 million plants.
${operations === undefined ? "" : operationsSection(operations)}
\`\`\`sh
npm run bench -- create --output bench/results/create.json
npm run bench -- report
\`\`\`

\`npm run bench\` lists the suites and their flags, such as \`--against COMMIT\`. Measured on
${machines.join("; on ")}.
`;
}

/** Marks a table as generated, as `npm run update:reference` does. */
function generated(table: string): string {
  return `<!-- npm run bench report -->\n\n${table}\n\n<!-- end -->`;
}

/** Requests a second of each subject under each load, and what they are of its creates. */
function operationsSection({ scenarios }: Result): string {
  const series = scenarios.flatMap((scenario) => scenario.series);
  const subjects = [...new Set(series.map(({ subject }) => subject))];
  const rows = [...new Set(series.map(({ load }) => load))].map((load) => [
    load,
    ...subjects.map((subject) => {
      const found = series.find((one) => one.load === load && one.subject === subject)?.metrics;
      const [rate, ratio] = [found?.["requests/s"], found?.["times the creates"]];
      if (rate === undefined || ratio === undefined) return "";
      return `${formatNumber(rate.median)} (${formatNumber(ratio.median)})`;
    }),
  ]);
  return `
## Reads and changes

Requests a second to a collection whose ids the server chooses, and in parentheses how many times
the creates of the same round that is. Replacements and changes are of 400 plants at random; each is
a row in the history, too, also in **rust-operations**, which is axum and rusqlite with a thread that
commits and one that reads. **bun + bun:sqlite** is a bare server whose only thread has the database:
the limit for reads on this runtime. **pocketbase** does not wait for the disk. Neither has a history.

![Requests a second of this server and of others: gets, lists and changes over 64 connections](images/operations.svg)

${generated(markdownTable(["", ...subjects], rows))}
`;
}

/** The others are about single figures, which their reports have. */
const pageSuites = ["create", "large-store", "postgres", "citus"];

const pageMetrics = [metrics.creates, metrics.p50, metrics.p99, metrics.cpu];

/** A row for each subject that creates, under each load. */
function pageRows({ series }: ScenarioResult): string[][] {
  return series
    .filter(({ metrics: figures }) => metrics.creates in figures)
    .map(({ load, subject, metrics: figures }) => {
      const [first] = series.filter((other) => other.load === load);
      const [own, others] = [first, { metrics: figures }].map(
        (each) => each?.metrics[metrics.creates]?.rounds,
      );
      const ratios = own?.map((creates, round) => creates / (others?.[round] ?? Number.NaN)) ?? [];
      return [
        `${load}: ${subject}`,
        ...pageMetrics.map((metric) => (figures[metric] ? formatNumber(figures[metric].median) : "")),
        first?.subject === subject ? "" : formatNumber(summarize(ratios).median),
      ];
    });
}

const claimHead = ["claim", "median (min–max)", "threshold"];

function machineText({ processor, cores, kernel, fileSystem }: Result["environment"]["machine"]): string {
  return `${processor}, ${cores} cores, Linux ${kernel}, ${fileSystem}`;
}

function claimsTable(claims: readonly ClaimResult[]): string {
  return claims.length === 0 ? "" : markdownTable(claimHead, claims.map(claimCells));
}

function claimCells(claim: ClaimResult): string[] {
  const { name, threshold } = claim;
  const verdict = isMet(claim) ? "met" : "missed";
  const judged = threshold === undefined ? "" : `${verdict}: ${formatThreshold(threshold)}`;
  return [name, formatSummary(claim), judged];
}

function formatThreshold(threshold: NonNullable<ClaimResult["threshold"]>): string {
  return "atLeast" in threshold ? `at least ${threshold.atLeast}` : `at most ${threshold.atMost}`;
}

function figuresTable({ metrics: names, series }: ScenarioResult): string {
  const shown = names.filter((metric) => series.some(({ metrics }) => metric in metrics));
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
    `- Commit ${commit}, ${date}; ${machineText(machine)}; load ${loadBefore} before the start`,
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
