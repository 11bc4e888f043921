// Calls to a worker: whatever happens to the worker, each call settles.

import { expect, spyOn, test } from "bun:test";
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

test("a call is sent when the one before has its response, and a short one while another short one runs", async () => {
  const sent: string[] = [];
  const thread = {
    postMessage: ({ method }: { method: string }) => sent.push(method),
    addEventListener: () => undefined,
    terminate: () => undefined,
    onmessage: (_: { data: object }) => undefined,
  };
  using _ = spyOn(globalThis, "Worker").mockImplementation((() => thread) as never);
  type Opening = () => Promise<{ reader: Record<"page" | "query", () => Promise<void>> }>;
  const worker = new WorkerClient<Opening>(new URL("file:///none"), { name: "sql", short: ["page"] });
  const { reader } = worker.served;
  const calls = (["query", "query", "page", "page", "page", "query"] as const).map((name) => reader[name]());
  const sentWith = calls.map(() => {
    const count = sent.length;
    thread.onmessage({ data: { kind: "result", result: undefined } });
    return count;
  });
  expect(sentWith).toEqual([1, 2, 5, 5, 5, 6]);
  await Promise.all(calls);
  worker.end(true);
});
