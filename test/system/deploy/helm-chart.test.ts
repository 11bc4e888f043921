// The Helm chart: linted, its resources valid for the API of Kubernetes, and consistent with the
// server and the image.

import { expect, test } from "bun:test";
import { YAML } from "bun";
import packageJson from "../../../package.json";
import { settings } from "../../../src/process/config/settings.ts";
import { readEnvironment } from "../../../src/process/config/sources.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { runIn } from "../../support/server.ts";

const chart = new URL("../../../deploy/helm/plantstore", import.meta.url).pathname;

/** The oldest version that the chart supports. */
const kubernetes = "1.30";

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly spec: {
        readonly containers: readonly [Container];
        readonly terminationGracePeriodSeconds: number;
      };
    };
  };
}

test("its version and that of its image are those of the program", async () => {
  const { version, appVersion } = YAML.parse(await Bun.file(`${chart}/Chart.yaml`).text()) as {
    readonly [key: string]: string;
  };
  expect({ version, appVersion }).toEqual({ version: packageJson.version, appVersion: packageJson.version });
});

/** Values that a user sets, each of which adds resources or fields. */
const variants: Readonly<Record<string, readonly string[]>> = {
  "with the defaults": [],
  "with SQLite, TLS, metrics and settings": [
    ...[
      "--set=store.engine=sqlite",
      "--set=store.storageClassName=local",
      "--set=tls.secretName=certificate",
    ],
    ...["--set-string=settings.PLANTSTORE_TOKEN_RATE=100", "--set=serviceMonitor.enabled=true"],
    ...[`--set=image.digest=sha256:${"a".repeat(64)}`, "--set=serviceMonitor.labels.release=prometheus"],
    '--set-json=networkPolicy.egress=[{"ports":[{"port":443}]}]',
  ],
};

async function render(values: readonly string[]): Promise<string> {
  const template = [programPath("helm"), "template", "demo", chart, `--kube-version=${kubernetes}`];
  const { exitCode, stdout, stderr } = await runIn("/", [...template, ...values]);
  expect(exitCode, stderr).toBe(0);
  return stdout;
}

const parseResources = (text: string) =>
  text.split(/^---$/m).flatMap((part) => (YAML.parse(part) as Resource | null) ?? []);

function suite(): void {
  test("helm lint finds no fault", async () => {
    const { exitCode, stdout } = await runIn("/", [programPath("helm"), "lint", "--strict", chart]);
    expect(exitCode, stdout).toBe(0);
  });

  for (const [name, values] of Object.entries(variants)) {
    test(`${name}: its settings exist, its labels select its pods, and a pod has time to stop`, async () => {
      const resources = parseResources(await render(values));
      const workload = resources.find(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
      if (workload === undefined) throw new Error("There is no workload");
      expect(workload.kind).toBe(values.length === 0 ? "Deployment" : "StatefulSet");
      expect(workload.spec.replicas).toBe(values.length === 0 ? 2 : 1);

      const pod = workload.spec.template.spec;
      const [{ env, volumeMounts }] = pod.containers;
      // Throws for an unknown one.
      readEnvironment(Object.fromEntries(env.map(({ name: variable, value }) => [variable, value])));
      // Every file is in a volume.
      const files = env.flatMap(({ value }) => /^(?:sqlite:)?(\/.+)\/[^/]+$/.exec(value)?.[1] ?? []);
      expect(files.length).toBeGreaterThan(1);
      const mounts = volumeMounts.map(({ mountPath }) => mountPath);
      expect(files.filter((path) => !mounts.includes(path))).toEqual([]);
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(
        Number(settings.drainSecondsMax.default) + 5 + 20,
      );

      const selected = resources
        .filter(({ kind }) => kind === "PodDisruptionBudget")
        .map(({ spec }) => spec.selector.matchLabels);
      expect(selected).toEqual([workload.spec.selector.matchLabels]);
      const kinds = resources.map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(["NetworkPolicy", "Service", "ServiceAccount", "Pod"]));
      expect(kinds.includes("ServiceMonitor")).toBe(values.length > 0);
    });
  }
}

describeIfInstalled("helm", "chart", suite);
