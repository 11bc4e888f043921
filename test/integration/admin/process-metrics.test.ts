// The metrics of the process, while no file can be opened.

import { expect, test } from "bun:test";

const source = new URL("../../../src/admin/process-metrics.ts", import.meta.url).pathname;

/** Prints the names of the metrics that have a sample, before and while no descriptor is free. */
const script = `
  import { openSync } from "node:fs";
  import { ProcessMetrics } from ${JSON.stringify(source)};
  const metrics = new ProcessMetrics();
  const measured = () => metrics.read().filter((one) => one.samples.length > 0).map((one) => one.name);
  const before = measured();
  try {
    for (;;) openSync("/dev/null");
  } catch {}
  console.log(JSON.stringify({ before, during: measured() }));
`;

test.if(process.platform === "linux")("those that need a descriptor are left out while none is free", () => {
  const { stdout, stderr } = Bun.spawnSync([
    "sh",
    "-c",
    'ulimit -n 64; exec "$0" -e "$1"',
    process.execPath,
    script,
  ]);
  expect(stderr.toString()).toBe("");
  const { before, during } = JSON.parse(stdout.toString()) as Record<"before" | "during", string[]>;
  expect(before).toContain("process_resident_memory_bytes");
  expect(before).toContain("process_open_fds");
  expect(during).toContain("process_cpu_seconds_total");
  expect(during).not.toContain("process_resident_memory_bytes");
  expect(during).not.toContain("process_open_fds");
});
