// A server of a contract, with or without a bug, and the rules of that contract.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Contents } from "../../packages/conformance/src/requests/contents.ts";
import { rulesFor } from "../../packages/conformance/src/rules/all-rules.ts";
import { type Level, levels } from "../../packages/conformance/src/rules/rule.ts";
import { servedDocument } from "../../src/docs-page/served-document.ts";
import { compiler } from "../../src/openapi/compiler.ts";
import { collectionOperations } from "../../src/plants/index.ts";
import { openServerStore } from "../../src/store/open-store.ts";
import { type Bug, startBuggyServer } from "../integration/conformance/buggy-server.ts";
import { checkConformance, deadPaths, leftOutOf, reportText } from "./conformance.ts";
import { readSingle } from "./contracts.ts";
import { startInProcess } from "./in-process-server.ts";
import { TemporaryFolder } from "./server.ts";

/** Bun compares Expect exactly. */
const notHeld = "http.expect-continue-case";

/** Rules that no request provokes for certain, or that have nothing to try with a list. */
const mayBeSkipped = ["errors.retry-after", "errors.other-method"];

export async function startContractRules(source: { readonly text: string }) {
  const resources = new AsyncDisposableStack();
  const contract = await readSingle(source);
  const contents = new Contents(contract, contract);
  const rules = rulesFor(contents).filter(({ unfit }) => unfit === undefined);
  const operations = collectionOperations(contents.collection);
  const folder = resources.use(new TemporaryFolder());
  const store = await openServerStore(
    `sqlite:${folder.file("store.db")}`,
    "create",
    { onUnavailable: () => undefined, onTaskFailed: () => undefined, onFailed: () => undefined },
    { compiler, contract: source },
  );
  const service = resources.use(await startInProcess({ store, basePath: "", operations }));
  const target = await service.target();
  return {
    leftOut: leftOutOf(contents),

    /** Checks that the sources of all rules are in the served description. */
    expectSources() {
      expect(deadPaths(rules, servedDocument(contents.contract, operations))).toEqual([]);
    },

    /** Checks that the server keeps all rules, or those of some levels. */
    async expectKept(of: readonly Level[] = levels) {
      const chosen = rules.filter(({ id, level }) => id !== notHeld && of.includes(level));
      const report = await checkConformance(target, { contents, rules: chosen });
      const unchecked = report.results.filter(({ outcome }) => outcome !== "holds");
      if (unchecked.some(({ rule, outcome }) => outcome === "fails" || !mayBeSkipped.includes(rule.id)))
        throw new Error(reportText(report));
    },

    /** Checks that the rules find a bug. */
    async expectFound(bug: Bug) {
      using buggy = await startBuggyServer((request) => service.server.fetch(request), target.token, bug);
      const chosen = rules.filter(({ id }) => bug.breaks.includes(id));
      const report = await checkConformance(
        { url: buggy.url, token: target.token },
        { contents, rules: chosen, timeoutMs: 1_000 },
      );
      const fails = report.results.filter(({ outcome }) => outcome === "fails").map(({ rule }) => rule.id);
      // A rule that fails only for the cause that another one names is blocked by it.
      const found = report.results.filter(
        ({ outcome, reason = "" }) =>
          outcome === "fails" || fails.some((other) => reason === `blocked by ${other}`),
      );
      if (found.length < bug.breaks.length) throw new Error(reportText(report));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Tests that a server of a contract keeps its rules, and that they find bugs. */
export function describeContractRules(
  name: string,
  source: { readonly text: string },
  bugs: Readonly<Record<string, Bug>>,
  leftOut?: Readonly<Record<string, string>>,
): void {
  describe(name, () => {
    let contract: Awaited<ReturnType<typeof startContractRules>>;
    beforeAll(async () => {
      contract = await startContractRules(source);
    });
    afterAll(() => contract[Symbol.asyncDispose]());

    test("every path into the served description leads to a member", () => contract.expectSources());
    test("a server keeps the rules, except those that do not apply", async () => {
      if (leftOut !== undefined) expect(contract.leftOut).toEqual(leftOut);
      await contract.expectKept();
    });
    test.each(Object.entries(bugs))("%s: it is found", (_, bug) => contract.expectFound(bug));
  });
}
