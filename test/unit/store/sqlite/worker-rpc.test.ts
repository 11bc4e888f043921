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
  const thread = pretendedThread(({ method }) => sent.push(method));
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

test("a call that is made while the worker closes its database rejects when that has ended", async () => {
  const thread = pretendedThread(() => undefined);
  using _ = spyOn(globalThis, "Worker").mockImplementation((() => thread) as never);
  type Opening = () => Promise<{ reader: Record<"close" | "query", () => Promise<void>> }>;
  const worker = new WorkerClient<Opening>(new URL("file:///none"), { name: "sql" });
  const { reader } = worker.served;
  const closing = reader.close();
  const queries = Promise.allSettled([reader.query(), reader.query()]);
  thread.onmessage({ data: { kind: "result", result: undefined } });
  await closing;
  worker.end(true, new Error("it was closed"));
  for (const result of await queries)
    expect(result).toMatchObject({ status: "rejected", reason: { message: "it was closed" } });
});

function pretendedThread(postMessage: (call: { readonly method: string }) => void) {
  return {
    postMessage,
    addEventListener: () => undefined,
    terminate: () => undefined,
    onmessage: (_: { data: object }) => undefined,
  };
}
