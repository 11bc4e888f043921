// The signals that end the checkpoint thread, at whatever moment they come.

import { expect, test } from "bun:test";

const module = import.meta.resolve("../../../../src/store/sqlite/checkpoint-signals.ts");

/** Runs the thread's loop, and stops it when it has loaded so many integers. */
const script = `
  import { CheckpointSignals } from ${JSON.stringify(module)};
  const load = Atomics.load;
  self.onmessage = ({ data: moment }) => {
    const signals = new CheckpointSignals(new SharedArrayBuffer(128));
    let loads = 0;
    Atomics.load = (integers, index) => {
      const value = load(integers, index);
      if (++loads === moment) signals.stop();
      return value;
    };
    signals.afterCommits(1, () => undefined);
    self.postMessage(moment);
  };`;

test.each([1, 2])("a stop after the load %d ends the loop", async (moment) => {
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const ended = new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
  });
  worker.postMessage(moment);
  expect(await ended).toBe(moment);
  worker.terminate();
});
