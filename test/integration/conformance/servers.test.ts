// The conformance of this server where nginx stands in front of it, or a rate limits it.

import { expect, test } from "bun:test";
import type { ConformanceReport, Outcome } from "../../../src/conformance/run.ts";
import { checkConformance, knownFailures, reportText, rulesNamed } from "../../support/conformance.ts";
import { Nginx } from "../../support/nginx.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

/** The ids of the rules with an outcome. */
function idsOf({ results }: ConformanceReport, wanted: Outcome): string[] {
  return results.filter(({ outcome }) => outcome === wanted).map(({ rule }) => rule.id);
}

function assertNoneFails(report: ConformanceReport): void {
  if (idsOf(report, "fails").length > 0) throw new Error(reportText(report));
}

testIfInstalled(
  "nginx",
  "behind nginx every rule holds but for tabs after a value, which nginx rejects",
  async () => {
    using folder = new TemporaryFolder();
    await using server = await RunningServer.startInProcess({
      database: `sqlite:${folder.file("plants.db")}`,
    });
    const port = Number(new URL(server.url).port);
    await using nginx = await Nginx.start([port, port]);
    const target = { url: nginx.url, token: await server.createToken(), ca: nginx.ca };
    const report = await checkConformance(target, { baseline: knownFailures });
    const [whiteSpace] = report.results.filter(({ outcome }) => outcome === "fails");
    if (idsOf(report, "fails").length > 1) throw new Error(reportText(report));
    expect(whiteSpace?.rule.id).toBe("http.field-white-space");
    expect(whiteSpace?.failures.map((failure) => failure.case)).toEqual(["tabs"]);
  },
  "nginx-light",
);

test("a rate of creates is waited for, and checked where it was met", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await using server = await RunningServer.startInProcess({ database, args: ["--token-rate", "1"] });
  const target = { url: server.url, token: await server.createToken() };
  const ids = [
    "contract.create-with-tag",
    "contract.create-without-tag",
    "http.connection-close",
    "errors.rate-limited",
  ];
  const report = await checkConformance(target, { rules: rulesNamed(...ids) });
  assertNoneFails(report);
  expect(idsOf(report, "holds")).toEqual(ids);

  const race = await checkConformance(target, { rules: rulesNamed("idempotence.race-of-equal") });
  expect(race.results).toMatchObject([
    { outcome: "skipped", reason: expect.stringContaining("limits the rate") },
  ]);
}, 60_000);
