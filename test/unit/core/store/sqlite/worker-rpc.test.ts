// Calls to a worker: whatever happens to the worker, each call settles.

import { expect, test } from "bun:test";
import { WorkerClient } from "../../../../../src/core/store/sqlite/worker-rpc.ts";
import { settled } from "../../../../support/settled.ts";

test("calls reject when the worker ends without an error, and later ones too", async () => {
  const failed = Promise.withResolvers<Error>();
  const script = URL.createObjectURL(
    new Blob(["self.onmessage = () => process.exit(0);"], { type: "text/javascript" }),
  );
  const worker = new WorkerClient<() => Promise<object>>(new URL(script), {
    name: "ended",
    onFailed: failed.resolve,
  });
  const calls = [worker.open(), worker.open()];
  for (const result of await Promise.allSettled(calls))
    expect(result).toMatchObject({ status: "rejected", reason: { message: "The SQLite worker ended" } });
  expect((await failed.promise).message).toBe("The SQLite worker ended");
  expect(await settled(worker.open())).toThrow("The SQLite worker ended");
});

test("a call whose arguments cannot be cloned rejects, and those after it are served", async () => {
  const script = URL.createObjectURL(
    new Blob(['self.onmessage = () => self.postMessage({ kind: "result", result: "served" });'], {
      type: "text/javascript",
    }),
  );
  type Opening = () => Promise<{ readonly store: { read(parameter: unknown): Promise<string> } }>;
  const worker = new WorkerClient<Opening>(new URL(script), { name: "serving" });
  const { store } = worker.served;
  const uncloneable = () => undefined;
  for (const parameters of [
    [uncloneable, 1],
    [1, uncloneable, 2],
  ]) {
    const results = await Promise.allSettled(parameters.map((parameter) => store.read(parameter)));
    expect(results).toEqual(
      parameters.map((parameter) =>
        parameter === uncloneable
          ? { status: "rejected", reason: expect.objectContaining({ name: "DataCloneError" }) }
          : { status: "fulfilled", value: "served" },
      ),
    );
  }
  worker.terminate();
});
