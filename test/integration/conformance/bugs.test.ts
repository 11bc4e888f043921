// The rules find bugs: a server with a known bug breaks the rules that the bug contradicts, and
// every rule finds one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { levels } from "../../../packages/conformance/src/rules/rule.ts";
import {
  checkConformance,
  reportText,
  allRules as rules,
  rulesNamed,
  rulesOf,
} from "../../support/conformance.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { type Bug, startBuggyServer } from "./buggy-server.ts";
import { bugs, habits } from "./bugs.ts";

const resources = new AsyncDisposableStack();
let start: (bug: Bug) => ReturnType<typeof startBuggyServer>;
let token: string;
beforeAll(async () => {
  const service = resources.use(await startInProcess());
  token = await service.createToken();
  start = (bug) => startBuggyServer((request) => service.server.fetch(request), token, bug);
});
afterAll(() => resources.disposeAsync());

/** Rules that get errors of other kinds, for a rule of every response. */
const provoking = ["contract.member-types", "idempotence.different-content"];

async function check(bug: Bug, ids: readonly string[]) {
  using buggy = await start(bug);
  const more = ids.length === 1 && ids.includes("contract.error-members") ? provoking : [];
  const rules = rulesNamed(...ids, ...more);
  return await checkConformance({ url: buggy.url, token }, { rules, timeoutMs: 5_000 });
}

test.each(levels)("without a bug the rules of %s hold", async (level) => {
  const report = await check(
    { breaks: [] },
    rulesOf(level).map(({ id }) => id),
  );
  const unchecked = report.results.filter(({ outcome }) => outcome !== "holds").map(({ rule }) => rule.id);
  // It has nothing to check.
  if (unchecked.some((id) => id !== "errors.retry-after")) throw new Error(reportText(report));
});

test.concurrent.each(Object.entries(bugs).map(([name, bug]) => [name, bug] as const))(
  "the rules find the bug %s",
  async (_, bug) => {
    const report = await check(bug, bug.breaks);
    const fails = report.results.filter(({ outcome }) => outcome === "fails").map(({ rule }) => rule.id);
    // A rule that fails only for the cause that another one names is blocked by it.
    const found = report.results.filter(
      ({ rule: { id }, outcome, reason = "" }) =>
        bug.breaks.includes(id) &&
        (outcome === "fails" || fails.some((other) => reason === `blocked by ${other}`)),
    );
    if (found.length < bug.breaks.length) throw new Error(reportText(report));
    expect(reportText(report)).not.toContain("cannot connect");
    expect(bug.breaks.length).toBeGreaterThan(0);
  },
);

test("errors of another shape are one finding, which blocks the rules of single errors", async () => {
  const rules = ["contract.error-members", "contract.token-required", "errors.body-members"];
  const codes = [
    "errors.invalid-json",
    "errors.missing-token",
    "errors.unknown-path",
    "idempotence.different-content",
  ];
  const problems = bugs.returnsProblemDetails as Bug;
  const { results } = await check(problems, [...rules, ...codes]);
  const outcomes = Object.fromEntries(
    results.map(({ rule, outcome, reason }) => [rule.id, reason ?? outcome]),
  );
  expect(outcomes).toEqual({
    "contract.error-members": "fails",
    "contract.token-required": "holds",
    "errors.body-members": "blocked by contract.error-members",
    ...Object.fromEntries(codes.map((id) => [id, "blocked by contract.error-members"])),
  });
});

test("that an invalid request is accepted is shown before other faults of its rule", async () => {
  const anyScheme = bugs.acceptsAnyOtherScheme as Bug;
  const both = { ...anyScheme, response: (bugs.sendsNoChallenge as Bug).response } as Bug;
  const report = await check(both, ["errors.missing-token"]);
  expect(reportText(report)).toContain(
    "FAIL errors.missing-token: Basic: a request that must be rejected is accepted",
  );
  expect(reportText(report)).toContain("Also: none: expected the header field WWW-Authenticate; ");
});

test.concurrent.each(habits)("a server that %s keeps %p", async (_, keeps, habit) => {
  const report = await check(habit, keeps);
  if (report.results.some(({ outcome }) => outcome !== "holds")) throw new Error(reportText(report));
});

test("every rule is broken by one of the bugs, and the documents say how many the default finds", async () => {
  const breaks = Object.values(bugs).map((bug) => bug.breaks);
  expect(rules.map(({ id }) => id).filter((id) => !breaks.flat().includes(id))).toEqual([]);
  const isOfContract = (id: string) => rules.find((rule) => rule.id === id)?.basis === "contract";
  const found = breaks.filter((ids) => ids.some(isOfContract)).length;
  const page = await Bun.file(new URL("../../../docs/conformance.md", import.meta.url)).text();
  expect(page.replaceAll(/\s+/g, " ")).toContain(`finds ${found} of the ${breaks.length} servers`);
});
