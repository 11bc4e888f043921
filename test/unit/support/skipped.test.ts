// The line about skipped tests of a report of bun test.

import { expect, test } from "bun:test";
import { skippedLine } from "../../runner/skipped.ts";

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" time="2.0">
  <testsuite name="a.test.ts" file="a.test.ts" tests="4" time="0.312" hostname="vm">
    <testsuite name="image (skipped: install &lt;x&gt;)" file="a.test.ts" line="2" tests="1" time="0" hostname="vm">
      <testcase name="runs" classname="inner &gt; image (skipped: install &lt;x&gt;)" time="0" file="a.test.ts" line="2">
        <skipped />
      </testcase>
    </testsuite>
    <testcase name="c" classname="" time="1.004" file="a.test.ts" line="1" />
    <testcase name="d (skipped: install nginx)" classname="" time="0" file="a.test.ts" line="1">
      <skipped />
    </testcase>
    <testcase name="e (skipped: install nginx)" classname="" time="0" file="a.test.ts" line="1">
      <skipped />
    </testcase>
  </testsuite>
</testsuites>
`;

test("each reason is named with the number of its tests", () => {
  expect(skippedLine(report)).toBe("skipped: install <x> (1), install nginx (2)\n");
  expect(skippedLine("")).toBe("skipped: none\n");
});
