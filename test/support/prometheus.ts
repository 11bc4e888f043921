// Prometheus with the alerts of deploy/, and the dashboard of Grafana.

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { eventually } from "./eventually.ts";
import { reservePort } from "./ports.ts";
import { programPath } from "./programs.ts";
import { TemporaryFolder } from "./server.ts";

/** Metrics that only a server on a cluster has. */
export const metricsOfClusters: readonly string[] = ["plantstore_node_up"];

/** The path of a file in deploy/prometheus. */
export function deployed(name: string): string {
  return fileURLToPath(new URL(`../../deploy/prometheus/${name}`, import.meta.url));
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
}

/**
 * Starts Prometheus for one server instead of those that deploy/ names, and waits until it is ready.
 * It scrapes every 0.2 seconds. Killed out of scope.
 */
export async function startPrometheus(adminUrl: string) {
  const folder = new TemporaryFolder();
  const configuration = (await Bun.file(deployed("prometheus.yml")).text())
    .replaceAll("_interval: 15s", "_interval: 200ms")
    .replace("127.0.0.1:8081", new URL(adminUrl).host)
    .replace(/^ *- 127\.0\.0\.1:8083\n/m, "");
  writeFileSync(folder.file("prometheus.yml"), configuration);
  writeFileSync(folder.file("plantstore-rules.yml"), await Bun.file(deployed("plantstore-rules.yml")).text());
  const address = `127.0.0.1:${reservePort()}`;
  const child = Bun.spawn(
    [
      programPath("prometheus"),
      `--config.file=${folder.file("prometheus.yml")}`,
      `--storage.tsdb.path=${folder.file("data")}`,
      `--web.listen-address=${address}`,
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  );
  await eventually("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus did not start: ${await child.stderr.text()}`);
    const response = await fetch(`http://${address}/-/ready`).catch(() => undefined);
    return response?.ok ?? false;
  });
  const get = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(`http://${address}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string };
    if (status !== "success") throw new Error(`${path}: ${error}`);
    return data;
  };
  return {
    /** The values that a query has now, one for each series. */
    async query(query: string): Promise<number[]> {
      const path = `query?${new URLSearchParams({ query })}`;
      const { result } = await get<{ result: { value: [number, string] }[] }>(path);
      return result.map(({ value: [, value] }) => Number(value));
    },
    async rules(): Promise<Rule[]> {
      const { groups } = await get<{ groups: { rules: Rule[] }[] }>("rules");
      return groups.flatMap(({ rules }) => rules);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill("SIGKILL");
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

const file = new URL("../../deploy/grafana/plantstore.json", import.meta.url);

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: unknown;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}

interface Dashboard {
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
}

export async function readDashboard(): Promise<Dashboard> {
  return (await Bun.file(file).json()) as Dashboard;
}

/** The queries of all panels, with Grafana's variables replaced, for all servers of a job. */
export function queriesOf({ panels }: Dashboard, rateInterval: string): string[] {
  const variables = { $job: "plantstore", $instance: ".*", $__rate_interval: rateInterval };
  return panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) =>
      Object.entries(variables).reduce((query, [name, value]) => query.replaceAll(name, value), expr),
    ),
  );
}
