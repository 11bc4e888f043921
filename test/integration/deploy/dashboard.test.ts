// The Grafana dashboard and the alerts: the data source and the metrics that they query.

import { expect, test } from "bun:test";
import { RunningServer } from "../../support/server.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: object;
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly panels: readonly Panel[];
}

const deploy = new URL("../../../deploy/", import.meta.url).pathname;
const { panels, templating } = (await Bun.file(`${deploy}grafana/plantstore.json`).json()) as Dashboard;

/** Metrics that only a server on a cluster has. */
const metricsOfClusters = ["plantstore_node_up"];

test("every panel but a row has an id of its own and queries the chosen data source", () => {
  const [chosen] = templating.list;
  expect(chosen).toMatchObject({ type: "datasource", query: "prometheus" });
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const querying = panels.filter(({ type }) => type !== "row");
  expect(querying.length).toBeGreaterThan(15);
  const uid = `\${${chosen?.name}}`;
  for (const { title, datasource, targets = [] } of querying) {
    expect({ title, datasource }).toEqual({ title, datasource: { type: "prometheus", uid } });
    expect(targets.length).toBeGreaterThan(0);
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    for (const target of targets) expect(target.datasource.uid).toBe(uid);
  }
});

function findMetricNames(text: string): Set<string> {
  return new Set(text.match(/\b(?:plantstore|process|nodejs)_\w+/g));
}

test("the server has every metric that is queried, and the dashboard shows every metric of the service", async () => {
  await using server = await RunningServer.startInProcess();
  const metrics = await (await fetch(`${await server.adminUrl()}/metrics`)).text();
  const samples = new Set([...(metrics.match(/^[a-z]\w+(?=[ {])/gm) ?? []), ...metricsOfClusters]);
  const own: readonly string[] = metrics.match(/(?<=^# TYPE )plantstore_\w+/gm) ?? [];

  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const shown = findMetricNames(queries.join("\n"));
  const alerting = findMetricNames(await Bun.file(`${deploy}prometheus/plantstore-rules.yml`).text());
  const missing = [...shown, ...alerting].filter((name) => !samples.has(name));
  // The text of an alert may have the name of a histogram without a suffix.
  expect(missing.filter((name) => !own.includes(name))).toEqual([]);
  expect(alerting.size).toBeGreaterThan(8);
  expect(own.filter((name) => ![...shown].some((one) => one.startsWith(name)))).toEqual([]);
});
