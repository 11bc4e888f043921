// The queries of the Grafana dashboard in deploy/.

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
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
}

export async function readDashboard(): Promise<Dashboard> {
  return (await Bun.file(file).json()) as Dashboard;
}

/** The queries of all panels, with Grafana's variables replaced as it would, for all servers of a job. */
export function queriesOf({ panels }: Dashboard, rateInterval: string): { title: string; query: string }[] {
  const variables = { $job: "plantstore", $instance: ".*", $__rate_interval: rateInterval };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      query: Object.entries(variables).reduce((query, [name, value]) => query.replaceAll(name, value), expr),
    })),
  );
}
