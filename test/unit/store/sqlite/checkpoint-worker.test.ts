// The checkpoint thread after a failed fsync, of its own or of the committing thread.

import { expect, test } from "bun:test";
import { closeSync, copyFileSync, existsSync, openSync } from "node:fs";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { CheckpointSignals } from "../../../../src/store/sqlite/checkpoint-signals.ts";
import type { openCheckpoints } from "../../../../src/store/sqlite/checkpoint-worker.ts";
import { DiskFailureError } from "../../../../src/store/sqlite/disk-failure.ts";
import { BatchSender } from "../../../../src/store/sqlite/shared-batch.ts";
import { SqliteStore } from "../../../../src/store/sqlite/store.ts";
import { WorkerClient } from "../../../../src/store/sqlite/worker-rpc.ts";
import { plant, plantStore } from "../../../support/contracts.ts";
import { TemporaryFolder } from "../../../support/server.ts";
import { settled } from "../../../support/settled.ts";
import { unexpected } from "../../../support/stored-plants.ts";

/** A thread whose store has a log of 12 MB, and which fsyncs a device instead of the file. */
async function openThread(folder: TemporaryFolder) {
  const [open, path] = [folder.file("open.db"), folder.file("plants.db")];
  await using store = await SqliteStore.open(open, "create", unexpected, { compiler });
  const large = Array.from({ length: 12 }, (_, id) => plant({ id: BigInt(id), name: "x".repeat(2 ** 20) }));
  await store.create(toEntries(plantStore, large));
  for (const suffix of ["", "-wal"]) copyFileSync(open + suffix, path + suffix);
  const { buffer } = new BatchSender();
  const worker = new WorkerClient<typeof openCheckpoints>(
    new URL("../../../../src/store/sqlite/checkpoint-worker.ts", import.meta.url),
    { name: "checkpoint", onNotification: unexpected },
  );
  const device = openSync("/dev/null", "r");
  await worker.open(path, buffer, device);
  return {
    path,
    signals: new CheckpointSignals(buffer),
    run: () => worker.served.checkpoints.run(),
    [Symbol.dispose]() {
      worker.end(true);
      closeSync(device);
    },
  };
}

test("an fsync that fails in the checkpoint thread ends it, and the commits", async () => {
  using folder = new TemporaryFolder();
  using thread = await openThread(folder);
  expect(thread.signals.hasDiskFailed).toBe(false);
  expect(await settled(thread.run())).toThrow(DiskFailureError);
  expect(thread.signals.hasDiskFailed).toBe(true);
  expect(existsSync(`${thread.path}-disk-failed`)).toBe(true);
});

test("after a failed fsync of a commit the checkpoint thread copies nothing, also when it closes", async () => {
  using folder = new TemporaryFolder();
  using thread = await openThread(folder);
  thread.signals.failDisk();
  await thread.run();
  expect(existsSync(`${thread.path}-wal`)).toBe(true);
});
