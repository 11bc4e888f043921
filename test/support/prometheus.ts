// The files of deploy/ for Prometheus and Grafana.

import { fileURLToPath } from "node:url";

/** Metrics that only a server on a cluster has. */
export const metricsOfClusters: readonly string[] = ["plantstore_node_up"];

/** The path of a file in deploy/prometheus. */
export function deployed(name: string): string {
  return fileURLToPath(new URL(`../../deploy/prometheus/${name}`, import.meta.url));
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

/** The queries of all panels. */
export function queriesOf({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
