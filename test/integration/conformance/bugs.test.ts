// The rules find bugs: a server with a known bug breaks the rules that the bug contradicts, and
// every rule finds one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { levels } from "../../../src/conformance/rule.ts";
import { rules } from "../../../src/conformance/rules.ts";
import { documentation } from "../../../src/docs-page/documentation.ts";
import { checkConformance, reportText, rulesNamed, rulesOf } from "../../support/conformance.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { type Bug, startBuggyServer } from "./buggy-server.ts";
import { bugs, habits } from "./bugs.ts";

const resources = new AsyncDisposableStack();
let start: (bug: Bug) => ReturnType<typeof startBuggyServer>;
let token: string;
beforeAll(async () => {
  const wrapHandler = documentation({ basePath: "", publicUrl: undefined, hasPage: false });
  const service = resources.use(await startInProcess({ wrapHandler }));
  token = await service.createToken();
  start = (bug) => startBuggyServer((request) => service.server.fetch(request), token, bug);
});
afterAll(() => resources.disposeAsync());

async function check(bug: Bug, ids: readonly string[]) {
  using buggy = await start(bug);
  // The rules of 429 and 503 check what another rule got.
  const observed = ids.some((id) => /rate-limited|unavailable/.test(id)) ? ["contract.create-with-tag"] : [];
  const checked = rulesNamed(...observed, ...ids);
  return await checkConformance({ url: buggy.url, token }, { rules: checked, timeoutMs: 1_000 });
}

test.each(levels)("without a bug the rules of %s hold", async (level) => {
  using server = await start({ breaks: [] });
  const report = await checkConformance({ url: server.url, token }, { rules: rulesOf(level) });
  // The rules of 429 and 503 have nothing to check.
  const unchecked = report.results.filter(({ outcome }) => outcome !== "holds").map(({ rule }) => rule.id);
  if (unchecked.some((id) => !/rate-limited|unavailable/.test(id))) throw new Error(reportText(report));
});

test.concurrent.each(Object.entries(bugs).map(([name, bug]) => [name, bug] as const))(
  "%s",
  async (_, bug) => {
    const report = await check(bug, bug.breaks);
    const missed = report.results.filter(
      ({ rule, outcome }) => bug.breaks.includes(rule.id) && outcome !== "fails",
    );
    if (missed.length > 0) throw new Error(reportText(report));
    expect(reportText(report)).not.toContain("cannot connect");
    expect(bug.breaks.length).toBeGreaterThan(0);
  },
);

test.concurrent.each(habits)("a server that %s keeps %p", async (_, keeps, habit) => {
  const report = await check(habit, keeps);
  if (report.results.some(({ outcome }) => outcome !== "holds")) throw new Error(reportText(report));
});

test("every rule is broken by one of the bugs", () => {
  const broken = new Set(Object.values(bugs).flatMap(({ breaks }) => breaks));
  expect(rules.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([]);
});
