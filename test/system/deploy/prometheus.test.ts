// The files of deploy/ for Prometheus: they are valid, and every alert has tests. That a server has
// the metrics that they name is in test/integration/deploy/dashboard.test.ts.

import { expect, test } from "bun:test";
import { YAML } from "bun";
import { describeIfInstalled, programPath } from "../../support/programs.ts";

const deployed = (name: string) => new URL(`../../../deploy/prometheus/${name}`, import.meta.url).pathname;

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}

interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}

async function readYaml<File>(name: string): Promise<File> {
  return YAML.parse(await Bun.file(deployed(name)).text()) as File;
}

async function alerts(): Promise<string[]> {
  const { groups } = await readYaml<RuleFile>("plantstore-rules.yml");
  return groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
}

test("every alert has a test where it fires and a test where it does not", async () => {
  const { tests } = await readYaml<RuleTests>("plantstore-rules.test.yml");
  const expectations = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  const expected = (fires: boolean) =>
    expectations
      .filter(({ exp_alerts }) => exp_alerts.length > 0 === fires)
      .map(({ alertname }) => alertname);
  const names = await alerts();
  expect([...new Set(expected(true))].toSorted()).toEqual(names.toSorted());
  expect([...new Set(expected(false))].toSorted()).toEqual(names.toSorted());
});

describeIfInstalled("promtool", "promtool", () => {
  test.each([
    ["check", "config", "prometheus.yml"],
    ["check", "rules", "plantstore-rules.yml"],
    ["test", "rules", "plantstore-rules.test.yml"],
  ])("%s %s %s", (verb, object, name) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      programPath("promtool"),
      verb,
      object,
      deployed(name),
    ]);
    expect({ exitCode, stderr: stderr.toString() }, stdout.toString()).toEqual({ exitCode: 0, stderr: "" });
  });
});
