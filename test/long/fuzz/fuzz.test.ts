// A short run of the fuzzer: its corpus, and some thousand mutations of it.

import { expect, test } from "bun:test";

const main = new URL("main.ts", import.meta.url).pathname;
const executions = 10_000;

test("the readers of bodies and of Authorization agree with independent oracles", async () => {
  const child = Bun.spawn([process.execPath, main, "--executions", String(executions)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  expect({ stdout, stderr, exitCode }).toEqual({
    stdout: expect.stringMatching(/^body: 10000 executions.*\nauthorization: 10000 executions.*\n$/),
    stderr: "",
    exitCode: 0,
  });
}, 120_000);
