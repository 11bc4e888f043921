// The conformance of this server where nginx stands in front of it, or a rate limits it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { checkConformance, reportText, rulesNamed, rulesOf } from "../../support/conformance.ts";
import type { Target } from "../../support/http.ts";
import { startNginx } from "../../support/nginx.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

describeIfInstalled("nginx", "behind nginx", () => {
  const resources = new AsyncDisposableStack();
  let target: Target;
  beforeAll(async () => {
    const folder = resources.use(new TemporaryFolder());
    const database = `sqlite:${folder.file("plants.db")}`;
    const server = resources.use(await RunningServer.startInProcess({ database }));
    const port = Number(new URL(server.url).port);
    const nginx = resources.use(await startNginx([port, port]));
    target = { url: nginx.url, token: await server.createToken(), ca: nginx.ca };
  });
  afterAll(() => resources.disposeAsync());

  // The rules of ids and of repeated creates differ from these in what the bodies say.
  test.each(["contract", "errors"] as const)("the rules of %s hold", async (level) => {
    const report = await checkConformance(target, { rules: rulesOf(level) });
    if (report.results.some(({ outcome }) => outcome === "fails")) throw new Error(reportText(report));
  });
});

test("a rate of creates is waited for, and checked where it was met; it does not let creates race", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const args = ["--token-rate", "1", "--token-burst", "1"];
  await using server = await RunningServer.startInProcess({ database, args });
  const rules = rulesNamed("contract.create", "errors.retry-after", "idempotence.race-of-equal");
  const { results } = await checkConformance(await server.target(), { rules });
  expect(results.map(({ rule, outcome, reason }) => [rule.id, outcome, reason]).toSorted()).toEqual([
    ["contract.create", "holds", undefined],
    ["errors.retry-after", "holds", undefined],
    ["idempotence.race-of-equal", "skipped", expect.stringContaining("limits the rate")],
  ]);
});
