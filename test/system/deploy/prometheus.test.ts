// Prometheus with the files of deploy/: they are valid, every alert has tests, and a live server
// has data for every panel.

import { describe, expect, test } from "bun:test";
import { YAML } from "bun";
import { makeCertificate } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post, type Target } from "../../support/http.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { deployed, queriesOf, readDashboard, startPrometheus } from "../../support/prometheus.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const testMsMax = 60_000;

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

describeIfInstalled(
  "promtool",
  "promtool",
  () => {
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
  },
  "prometheus",
);

/** A create, a list and a rejected request, for panels of all. */
async function createListAndFail(target: Target): Promise<void> {
  await post(target, plantJson(freshId(), "Monstera"));
  await fetch(`${target.url}/plants`, {
    headers: { Authorization: `Bearer ${target.token}` },
    tls: { ca: target.ca },
  });
  await post(target, "{");
}

function live(): void {
  test(
    "every panel of the dashboard has data from a live server, and only the alert on its short-lived certificate fires",
    async () => {
      using folder = new TemporaryFolder();
      const { certificate, key } = makeCertificate(folder, "site", "/CN=127.0.0.1", "IP:127.0.0.1");
      await using server = await RunningServer.startInProcess({
        database: `sqlite:${folder.file("plants.db")}`,
        args: ["--tls-certificate", certificate, "--tls-key", key, "--operations", "create,list"],
      });
      const ca = await Bun.file(certificate).text();
      const target = { url: server.url, token: await server.createToken(), ca };
      await using prometheus = await startPrometheus(await server.adminUrl());

      // A rate needs two samples with creates between them.
      let empty = queriesOf(await readDashboard(), "30s");
      while (empty.length > 0) {
        await createListAndFail(target);
        const values = await Promise.all(empty.map((query) => prometheus.query(query)));
        empty = empty.filter((_, index) => !values[index]?.some(Number.isFinite));
      }

      const rules = await eventually(
        "the health of every rule",
        () => prometheus.rules(),
        (all) => !all.some(({ health }) => health === "unknown"),
      );
      expect(rules.map(({ name }) => name)).toEqual(await alerts());
      expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
      expect(rules.filter(({ state }) => state === "firing").map(({ name }) => name)).toEqual([
        "PlantStoreCertificateEnds",
      ]);
    },
    testMsMax,
  );
}

describe("live", () =>
  describeIfInstalled("prometheus", "Prometheus", () => describeIfInstalled("openssl", "with TLS", live)));
