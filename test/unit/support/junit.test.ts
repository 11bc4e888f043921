// The summary of a report of bun test.

import { expect, test } from "bun:test";
import { formatReport, parseReport } from "../../runner/junit.ts";

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" time="2.0">
  <testsuite name="a.test.ts" file="a.test.ts" tests="2" time="0.312" hostname="vm">
    <testsuite name="at once" file="a.test.ts" line="2" tests="2" time="0.62" hostname="vm">
      <testcase name="1 &lt; 2" classname="at once" time="0.311" file="a.test.ts" line="2" />
      <testcase name="2" classname="at once" time="0.310" file="a.test.ts" line="2" />
    </testsuite>
  </testsuite>
  <testsuite name="b.test.ts" file="b.test.ts" tests="2" time="1.016" hostname="vm">
    <testcase name="c" classname="" time="1.004" file="b.test.ts" line="1" />
    <testcase name="d (skipped: install nginx)" classname="" time="0" file="b.test.ts" line="1">
      <skipped />
    </testcase>
  </testsuite>
</testsuites>
`;

test("the slowest files and tests, and in one line why tests were skipped; a file takes as long as it runs", () => {
  expect(formatReport(parseReport(report)).split("\n")).toEqual([
    "slowest files:",
    "    1.0 s  b.test.ts",
    "    0.3 s  a.test.ts",
    "slowest tests:",
    "    1.0 s  b.test.ts: c",
    "    0.3 s  a.test.ts: at once > 1 < 2",
    "    0.3 s  a.test.ts: at once > 2",
    "    0.0 s  b.test.ts: d (skipped: install nginx)",
    "skipped: install nginx (1)",
    "",
  ]);
});
