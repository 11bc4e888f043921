// Prometheus' text format; promtool checks the server's own metrics in
// test/integration/admin.

import { expect, test } from "bun:test";
import { labels } from "../../../src/admin/prometheus-text.ts";

test("quotes, backslashes and line ends in a label are escaped", () => {
  expect(labels({ a: 'one "two" \\three\nfour' })).toBe('{a="one \\"two\\" \\\\three\\nfour"}');
});
