// The metrics that the dashboard and the alerts name, against those that a server has.

import { expect, test } from "bun:test";
import { queriesOf, readDashboard } from "../../support/dashboard.ts";
import { deployed } from "../../support/prometheus.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

function namedIn(text: string): Set<string> {
  return new Set(text.match(/\b(?:plantstore|process|nodejs)_\w+/g));
}

test("they are all there, and the dashboard leaves out none of the service's own", async () => {
  using folder = new TemporaryFolder();
  await using server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
  const metrics = await (await fetch(`${await server.adminUrl()}/metrics`)).text();
  const samples = new Set(metrics.match(/^[a-z]\w+(?=[ {])/gm));
  const own: readonly string[] = metrics.match(/(?<=^# TYPE )plantstore_\w+/gm) ?? [];

  const shown = namedIn(
    queriesOf(await readDashboard(), "1m")
      .map(({ query }) => query)
      .join("\n"),
  );
  const alerting = namedIn(await Bun.file(deployed("plantstore-rules.yml")).text());
  const missing = [...shown, ...alerting].filter((name) => !samples.has(name));
  // An alert's text names a histogram by itself.
  expect(missing.filter((name) => !own.includes(name))).toEqual([]);
  expect(alerting.size).toBeGreaterThan(8);
  expect(own.filter((name) => ![...shown].some((one) => one.startsWith(name)))).toEqual([]);
});
