// Every rule of src/conformance holds on every engine: what any server of the contract must do. The
// other suites of this folder check what only this server does: its messages, limits and settings.

import { expect, test } from "bun:test";
import { checkConformance, reportText, allRules as rules } from "../../../support/conformance.ts";
import { describeConformance } from "./targets.ts";

/** No request to a server that is not overloaded provokes it; limits.test.ts does with settings. */
const notProvoked = "errors.retry-after";

/** Bun.serve compares Expect exactly, see docs/decisions.md. Once it does not, this fails. */
const notHeld = "http.expect-continue-case";

describeConformance("conformance", (target, isSandbox) => {
  test.each(rules.map((rule) => [rule.id, rule] as const))("%s", async (id, rule) => {
    const report = await checkConformance(target(), { rules: [rule] });
    const [result] = report.results;
    const isHeld = id !== notHeld || isSandbox;
    if (result?.outcome === "fails" && isHeld) throw new Error(reportText(report));
    expect(result?.outcome).toBe(id === notProvoked ? "skipped" : isHeld ? "holds" : "fails");
  });
});
