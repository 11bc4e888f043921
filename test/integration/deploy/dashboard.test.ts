// The Grafana dashboard is valid for import, and every panel queries the chosen data source.

import { expect, test } from "bun:test";
import { readDashboard } from "../../support/prometheus.ts";

const columns = 24;

test("it has a schema version, variables with the data source first, and panels that do not overlap", async () => {
  const { uid, title, schemaVersion, templating, panels } = await readDashboard();
  expect({ uid, title }).toEqual({ uid: "plantstore", title: "Plant Store" });
  // The schema of Grafana 10, which later versions migrate on import.
  expect(schemaVersion).toBe(39);
  expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
    ["datasource", "datasource"],
    ["job", "query"],
    ["instance", "query"],
  ]);
  expect(templating.list[0]?.query).toBe("prometheus");
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);

  const occupied = new Set<string>();
  for (const { gridPos } of panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      expect(x).toBeLessThan(columns);
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(occupied.has(`${x},${y}`)).toBe(false);
        occupied.add(`${x},${y}`);
      }
    }
  }
});

test("every panel but a row queries the chosen data source", async () => {
  const { panels, templating } = await readDashboard();
  const chosen = `\${${templating.list[0]?.name}}`;
  const querying = panels.filter(({ type }) => type !== "row");
  expect(querying.length).toBeGreaterThan(15);
  for (const { title, datasource, targets = [] } of querying) {
    expect({ title, datasource }).toEqual({
      title,
      datasource: { type: "prometheus", uid: chosen },
    });
    expect(targets.length).toBeGreaterThan(0);
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    for (const { datasource: target } of targets) expect(target.uid).toBe(chosen);
  }
});
