// Prometheus' text format; promtool checks the server's own metrics in
// test/integration/core/observability.

import { expect, test } from "bun:test";
import { labels } from "../../../../src/core/observability/prometheus-text.ts";

test("quotes, backslashes and line ends in a label are escaped", () => {
  expect(labels({ a: 'one "two" \\three\nfour' })).toBe('{a="one \\"two\\" \\\\three\\nfour"}');
});
