// Calls to a worker: whatever happens to the worker, each call settles.

import { expect, test } from "bun:test";
import { WorkerClient } from "../../../../src/store/sqlite/worker-rpc.ts";
import { settled } from "../../../support/settled.ts";

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
