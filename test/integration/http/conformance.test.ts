// Every rule of packages/conformance/src holds on SQLite and in a sandbox, and those that depend on the
// engine hold on every other: what any server of the contract must do. The other suites of this
// folder check what only this server does: its messages, limits and settings.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { documentation } from "../../../src/docs-page/documentation.ts";
import { allRules, checkConformance, ofEngines, reportText } from "../../support/conformance.ts";
import { plantStore } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import type { Target } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { RunningSandbox } from "../../support/sandbox.ts";

/** No request to a server that is not overloaded provokes it; limits.test.ts does with settings. */
const notProvoked = "errors.retry-after";

const docs = { contract: plantStore, basePath: "", publicUrl: undefined, hasPage: true };

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

const servers = engines.map(({ name, createTestStore }) => ({
  name,
  async start(): Promise<Target> {
    const { database } = resources.use(await createTestStore());
    return resources.use(await startInProcess({ database, wrapHandler: documentation(docs) })).target();
  },
}));
const sandbox = {
  name: "sandbox",
  start: async (): Promise<Target> => resources.use(await RunningSandbox.startInProcess()),
};
const hasSandbox = engines.some(({ name }) => name === "sqlite");
const rulesOfEngines = allRules.filter(({ level }) => ofEngines.includes(level));

describe.each(hasSandbox ? [...servers, sandbox] : servers)("$name: conformance", ({ name, start }) => {
  let target: Target;
  beforeAll(async () => {
    target = await start();
  });

  const rules = ["sqlite", "sandbox"].includes(name) ? allRules : rulesOfEngines;
  test.each(rules.map((rule) => [rule.id, rule] as const))("%s", async (id, rule) => {
    const report = await checkConformance(target, { rules: [rule] });
    const [result] = report.results;
    if (result?.outcome === "fails") throw new Error(reportText(report));
    expect(result?.outcome).toBe(id === notProvoked ? "skipped" : "holds");
  });

  test.each([
    ["a byte order mark before a body is ignored", '\ufeff{"id":-7001,"name":"last"}'],
    ["of equal members the last counts", '{"id":1.5,"name":"first","id":-7002,"na\\u006de":"last"}'],
  ])("%s", async (_, body) => {
    const headers = { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" };
    const response = await fetch(`${target.url}/plants`, { method: "POST", headers, body });
    expect(await response.json()).toEqual({ name: "last" });
  });
});
