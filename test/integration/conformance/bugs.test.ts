// The rules find bugs: a server of each contract keeps the rules, one with a known bug breaks the
// rules that the bug contradicts, and every rule finds one.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Contents } from "../../../packages/conformance/src/requests/contents.ts";
import { rulesFor } from "../../../packages/conformance/src/rules/all-rules.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { checkConformance, deadPaths, leftOutOf, reportText } from "../../support/conformance.ts";
import { readSingle } from "../../support/contracts.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";
import { type Bug, startBuggyServer } from "./buggy-server.ts";
import { habits, planted } from "./bugs.ts";

/** Rules that no request provokes for certain, or that have nothing to try with a list. */
const mayBeSkipped = ["errors.retry-after", "errors.other-method"];

/** Rules that get errors of other kinds, for a rule of every response. */
const provoking = ["contract.invalid-members", "idempotence.different-content"];

/** A server of a contract, with or without a bug, and its rules. */
async function startService(text: string) {
  const resources = new AsyncDisposableStack();
  const contract = await readSingle({ text });
  const contents = new Contents(contract, contract);
  const rules = rulesFor(contents).filter(({ unfit }) => unfit === undefined);
  const operations = collectionOperations(contents.collection);
  const folder = resources.use(new TemporaryFolder());
  const store = await openedStore(`sqlite:${folder.file("store.db")}`, undefined, { text });
  const service = resources.use(await startInProcess({ store, basePath: "", operations }));
  const { token } = await service.target();
  return {
    contents,
    rules,
    operations,
    /** Checks a server with a bug, with the rules that are named, as far as the contract has them. */
    async check(bug: Bug, ids: readonly string[]) {
      using buggy = await startBuggyServer((request) => service.server.fetch(request), token, bug);
      const chosen = rules.filter(({ id }) => ids.includes(id));
      return await checkConformance({ url: buggy.url, token }, { contents, rules: chosen, timeoutMs: 5_000 });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

type Service = Awaited<ReturnType<typeof startService>>;
const plants = planted[0] as (typeof planted)[number];

for (const { contract, text, bugs, leftOut } of planted)
  describe(contract, () => {
    let service: Service;
    beforeAll(async () => {
      service = await startService(text);
    });
    afterAll(() => service[Symbol.asyncDispose]());

    test("the sources of the rules lead to members of the served description", () => {
      const { rules, contents, operations } = service;
      expect(deadPaths(rules, servedDocument(contents.contract, operations))).toEqual([]);
      if (leftOut !== undefined) expect(leftOutOf(contents)).toEqual(leftOut);
    });

    test("the server of the bugs keeps all rules if it has none", async () => {
      const ids = service.rules.map(({ id }) => id);
      const { results } = await service.check({ breaks: [] }, ids);
      const unchecked = results.filter(({ outcome }) => outcome !== "holds");
      expect(
        unchecked.filter(({ rule, outcome }) => outcome === "fails" || !mayBeSkipped.includes(rule.id)),
      ).toEqual([]);
    });

    test.concurrent.each(Object.entries(bugs))("the rules find the bug: %s", async (_, bug) => {
      const more = bug.breaks.join() === "contract.as-described" ? provoking : [];
      const report = await service.check(bug, [...bug.breaks, ...more]);
      const found = report.results.filter(
        ({ rule: { id }, outcome }) => bug.breaks.includes(id) && outcome === "fails",
      );
      const tried = bug.breaks.filter((each) => service.rules.some(({ id }) => id === each));
      if (found.length < tried.length || tried.length === 0) throw new Error(reportText(report));
      expect(reportText(report)).not.toContain("cannot connect");
    });

    if (contract !== plants.contract) return;

    test.concurrent.each(habits)("a server that %s keeps %p", async (_, keeps, habit) => {
      const report = await service.check(habit, keeps);
      if (report.results.some(({ outcome }) => outcome !== "holds")) throw new Error(reportText(report));
    });
  });

test("every rule is broken by one of the bugs, and the documents say how many the default finds", async () => {
  const broken = planted.flatMap(({ bugs }) => Object.values(bugs).flatMap(({ breaks }) => breaks));
  const contracts = await Promise.all(planted.map(({ text }) => readSingle({ text })));
  const rules = contracts.flatMap((contract) => rulesFor(new Contents(contract, contract)));
  expect([...new Set(rules.map(({ id }) => id))].filter((id) => !broken.includes(id))).toEqual([]);
  const ofContract = new Set(rules.filter(({ basis }) => basis === "contract").map(({ id }) => id));
  const all = Object.values(plants.bugs).map(({ breaks }) => breaks);
  const found = all.filter((breaks) => breaks.some((id) => ofContract.has(id))).length;
  const page = await Bun.file(new URL("../../../docs/conformance.md", import.meta.url)).text();
  expect(page.replaceAll(/\s+/g, " ")).toContain(`finds ${found} of the ${all.length} servers`);
});
