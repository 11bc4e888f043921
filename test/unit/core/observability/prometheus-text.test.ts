// Prometheus' text format; promtool checks the server's own metrics in
// test/integration/core/observability.

import { expect, test } from "bun:test";
import { counter, gauge, labels, renderMetrics } from "../../../../src/core/observability/prometheus-text.ts";

test("metrics with and without labels are separated by an empty line", () => {
  const metrics = [counter("a_total", "Counts a.", [[labels({ b: "x", c: 1 }), 2]]), gauge("d", "D.", 0.5)];
  expect(renderMetrics(metrics)).toBe(`# HELP a_total Counts a.
# TYPE a_total counter
a_total{b="x",c="1"} 2

# HELP d D.
# TYPE d gauge
d 0.5
`);
});

test("a gauge that could not be measured has no sample", () => {
  expect(renderMetrics([gauge("d", "D.", undefined)])).toBe("# HELP d D.\n# TYPE d gauge\n");
});

test("quotes, backslashes and line ends in a label are escaped", () => {
  expect(labels({ a: 'one "two" \\three\nfour' })).toBe('{a="one \\"two\\" \\\\three\\nfour"}');
});
