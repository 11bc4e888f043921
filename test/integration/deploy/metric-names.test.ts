// The metrics in the dashboard and the alerts, compared with those of a running server.

import { expect, test } from "bun:test";
import { deployed, metricsOfClusters, queriesOf, readDashboard } from "../../support/prometheus.ts";
import { RunningServer } from "../../support/server.ts";

function findMetricNames(text: string): Set<string> {
  return new Set(text.match(/\b(?:plantstore|process|nodejs)_\w+/g));
}

test("the server has all of them, and the dashboard shows every metric of the service", async () => {
  await using server = await RunningServer.startInProcess();
  const metrics = await (await fetch(`${await server.adminUrl()}/metrics`)).text();
  const samples = new Set([...(metrics.match(/^[a-z]\w+(?=[ {])/gm) ?? []), ...metricsOfClusters]);
  const own: readonly string[] = metrics.match(/(?<=^# TYPE )plantstore_\w+/gm) ?? [];

  const shown = findMetricNames(
    queriesOf(await readDashboard(), "1m")
      .map(({ query }) => query)
      .join("\n"),
  );
  const alerting = findMetricNames(await Bun.file(deployed("plantstore-rules.yml")).text());
  const missing = [...shown, ...alerting].filter((name) => !samples.has(name));
  // The text of an alert may have the name of a histogram without a suffix.
  expect(missing.filter((name) => !own.includes(name))).toEqual([]);
  expect(alerting.size).toBeGreaterThan(8);
  expect(own.filter((name) => ![...shown].some((one) => one.startsWith(name)))).toEqual([]);
});
