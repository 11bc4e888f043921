// The end of a process with a server.

import { expect, test } from "bun:test";
import { type CommandHost, host, onHost } from "../../../src/process/host.ts";
import { ServerProcess } from "../../../src/process/server-process.ts";
import { settled } from "../../support/settled.ts";
import { VirtualTime } from "../../support/virtual-time.ts";

const config = {
  logFormat: "json",
  logLevel: "error",
  accessLog: 0,
  drainSecondsMax: 1,
} as ConstructorParameters<typeof ServerProcess>[0];

/** Stops a process in order, and closes its parts, on a host that notes the codes of exits. */
async function stop(
  codes: (number | undefined)[],
  close: () => void | Promise<void>,
  onExit: () => void = () => undefined,
): Promise<void> {
  const noting: CommandHost = {
    ...host(),
    log: { stream: { write: () => undefined }, end: async () => true },
    exit(code) {
      codes.push(code);
      onExit();
    },
  };
  await onHost(noting, async () => {
    await using ended = new ServerProcess(config, performance.now.bind(performance));
    ended.resources.defer(close);
    await ended.waitForStop(Promise.resolve("a test"));
  });
}

test("a process that has stopped in order ends, whatever still runs in it", async () => {
  const codes: (number | undefined)[] = [];
  await stop(codes, () => undefined);
  expect(codes).toEqual([0]);
});

test("a process one of whose parts cannot be closed has not stopped in order: its error is thrown", async () => {
  const codes: (number | undefined)[] = [];
  const close = () => {
    throw new Error("the disk is full");
  };
  expect(await settled(stop(codes, close))).toThrow("the disk is full");
  expect(codes).toEqual([]);
});

test("a process one of whose parts hangs ends half a minute after its requests had their time", async () => {
  using time = new VirtualTime();
  const codes: (number | undefined)[] = [];
  const exited = Promise.withResolvers<void>();
  void stop(codes, () => new Promise(() => undefined), exited.resolve);
  await time.until(exited.promise, 31_000);
  expect([time.now(), codes]).toEqual([31_000, [1]]);
});
