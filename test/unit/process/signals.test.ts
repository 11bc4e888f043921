// The signals that end a command.

import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { waitForStopSignal } from "../../../src/process/signals.ts";

test("a signal that npm passes on as well is one with the first; any later one ends the process at once", async () => {
  const signals = new EventEmitter();
  let now = 0;
  const late: string[] = [];
  const stopped = waitForStopSignal(
    signals,
    () => now,
    (signal) => late.push(signal),
  );
  signals.emit("SIGINT", "SIGINT");
  now = 200;
  signals.emit("SIGINT", "SIGINT");
  expect(await stopped).toBe("SIGINT");
  expect(late).toEqual([]);
  now = 201;
  signals.emit("SIGTERM", "SIGTERM");
  expect(late).toEqual(["SIGTERM"]);
});
