// A server of a contract, with or without a bug, and the rules of that contract.

import { expect } from "bun:test";
import { collectionOperations } from "../../src/collection-operations/index.ts";
import { rulesFor } from "../../src/conformance/all-rules.ts";
import { Contents } from "../../src/conformance/contents.ts";
import { readContract } from "../../src/core/contract/read-contract.ts";
import { openServerStore } from "../../src/core/store/open-store.ts";
import { servedDocument } from "../../src/docs-page/served-document.ts";
import { type Bug, startBuggyServer } from "../integration/conformance/buggy-server.ts";
import { checkConformance, reportText } from "./conformance.ts";
import { startInProcess } from "./in-process-server.ts";
import { TemporaryFolder } from "./server.ts";

/** Bun compares Expect exactly. */
const notHeld = "http.expect-continue-case";

/** Rules that no request provokes for certain, or that have nothing to try with a list. */
const mayBeSkipped = ["errors.retry-after", "errors.other-method"];

export async function startContractRules(source: { readonly text: string }) {
  const resources = new AsyncDisposableStack();
  const contents = new Contents(await readContract(source));
  const { rules, leftOut } = rulesFor(contents);
  const operations = collectionOperations(contents.contract);
  const folder = resources.use(new TemporaryFolder());
  const store = await openServerStore(
    `sqlite:${folder.file("store.db")}`,
    "create",
    { onUnavailable: () => undefined, onFailed: () => undefined },
    { contract: source },
  );
  const service = resources.use(await startInProcess({ store, basePath: "", operations }));
  const target = await service.target();
  return {
    /** Why rules do not apply, by their ids. */
    leftOut: Object.fromEntries(leftOut.map(({ rule, reason }) => [rule.id, reason])),

    /** Checks that the sources of all rules are in the served description. */
    expectSources() {
      const served = servedDocument(contents.contract, operations);
      const paths = rules.flatMap(({ sources: all }) =>
        all.flatMap((each) => /^openapi\.json, (.*)/.exec(each)?.[1] ?? []),
      );
      expect(paths.filter((path) => memberAt(served, path) === undefined)).toEqual([]);
    },

    /** Checks that the server keeps all rules. */
    async expectKept() {
      const chosen = rules.filter(({ id }) => id !== notHeld);
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
      const held = report.results.filter(({ outcome }) => outcome !== "fails");
      if (held.length > 0 || chosen.length < bug.breaks.length) throw new Error(reportText(report));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The value at a path of member names, which may contain points. */
function memberAt(value: unknown, path: string): unknown {
  if (path === "" || typeof value !== "object" || value === null) return path === "" ? value : undefined;
  const found = Object.entries(value).filter(([name]) => path === name || path.startsWith(`${name}.`));
  return found
    .map(([name, member]) => memberAt(member, path.slice(name.length + 1)))
    .find((each) => each !== undefined);
}
