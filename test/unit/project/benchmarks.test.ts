// docs/benchmarks.md and its plot against the committed results.

import { expect, test } from "bun:test";
import { plotCreates, plotOperations } from "../../../bench/plot.ts";
import { renderPage } from "../../../bench/report.ts";
import { readResults } from "../../../bench/result.ts";
import { formatNumber, summarize } from "../../../bench/summary.ts";
import { rowsOf } from "../../support/markdown.ts";

const page = await Bun.file(new URL("../../../docs/benchmarks.md", import.meta.url)).text();
const results = await readResults();

test("docs/benchmarks.md is what `npm run bench -- report` makes of bench/results", () => {
  expect(page).toBe(renderPage(results));
});

test("docs/images/creates.svg is what `npm run bench -- report` makes of bench/results/create.json", async () => {
  const creates = results.get("create");
  if (creates === undefined) throw new Error("there is no result of the suite create");
  const plot = await Bun.file(new URL("../../../docs/images/creates.svg", import.meta.url)).text();
  expect(plot).toBe(plotCreates(creates));
  const { series } = creates.scenarios[0] ?? { series: [] };
  expect(plot.split('<line class="range"').length - 1).toBe(series.length);
});

test("docs/images/operations.svg is what `npm run bench -- report` makes of bench/results/operations.json", async () => {
  const operations = results.get("operations");
  if (operations === undefined) throw new Error("there is no result of the suite operations");
  const plot = await Bun.file(new URL("../../../docs/images/operations.svg", import.meta.url)).text();
  expect(plot).toBe(plotOperations(operations));
});

test("docs/guides/run-an-inventory.md sizes a server by the medians in bench/results", async () => {
  const guide = await Bun.file(new URL("../../../docs/guides/run-an-inventory.md", import.meta.url)).text();
  const rows = rowsOf(guide, /^\| (Creates a second|p99|Processor time|Memory of)/);
  const metricsOf = (suite: string) =>
    results
      .get(suite)
      ?.scenarios[0]?.series.find((row) => row.load === "256 connections" && row.subject === "plantstore")
      ?.metrics ?? {};
  const expected = ["creates/s", "p99 ms", "µs/request", "MB resident"].map((name) =>
    ["create", "postgres"].map((suite) => formatNumber(metricsOf(suite)[name]?.median ?? Number.NaN)),
  );
  expect(rows.map(([, ...figures]) => figures)).toEqual(expected);
});

test("each summary in bench/results follows from its rounds", () => {
  for (const { rounds, scenarios } of results.values()) {
    const series = scenarios.flatMap(({ series }) => series.flatMap(({ metrics }) => Object.values(metrics)));
    for (const summary of [...series, ...scenarios.flatMap(({ claims }) => claims)]) {
      expect(summary).toMatchObject(summarize(summary.rounds));
      expect(summary.rounds.length).toBeLessThanOrEqual(rounds);
    }
  }
});

test("each result in bench/results says what was measured, where, and that no acknowledged row was missing", () => {
  for (const [suite, { command, environment, scenarios }] of results) {
    expect(command).toStartWith(`npm run bench -- ${suite}`);
    expect(environment.commit).toMatch(/^[0-9a-f]{7,}/);
    expect(environment.loadBefore).toBeNumber();
    const audits = scenarios.flatMap(({ audits }) => audits);
    expect(audits.length).toBeGreaterThan(0);
    for (const { acknowledged, rows } of audits) expect(rows).toBeGreaterThanOrEqual(acknowledged);
  }
});
