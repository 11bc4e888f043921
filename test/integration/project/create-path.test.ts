// The path of a create through the source: the files whose functions run between the socket and the fsync, and back. They
// are measured on a real server with its threads and observers, and compared with the lists below.

import { expect, test } from "bun:test";
import { type RecordedFiles, RecordedServer } from "../../support/function-recorder.ts";
import { plantJson, post } from "../../support/http.ts";
import { TemporaryFolder } from "../../support/server.ts";

const filesMax = 19;

/** In the order of their first calls. */
const createPath: RecordedFiles = {
  mainThread: [
    "src/core/http/listener.ts",
    "src/core/http/handler.ts",
    "src/core/http/create-plant.ts",
    "src/core/auth/authenticator.ts",
    "src/core/auth/token-cache.ts",
    "src/core/store/group-commit.ts",
    "src/core/http/body-reader.ts",
    "src/core/store/fair-share.ts",
    "src/core/contract/plant.ts",
    "src/core/contract/utf8.ts",
    "src/core/store/sqlite/worker-store.ts",
    "src/core/store/sqlite/shared-batch.ts",
    "src/core/http/responses.ts",
  ],
  commitThread: [
    "src/core/store/sqlite/commit-worker.ts",
    "src/core/store/sqlite/shared-batch.ts",
    "src/core/store/sqlite/store.ts",
    "src/core/store/sqlite/checkpoint-signals.ts",
    "src/core/store/sqlite/files.ts",
    "src/core/store/sqlite/plants.ts",
    "src/core/store/sqlite/wal.ts",
  ],
};

/** Run by the group commit's hook and by events: they decide nothing about the request. */
const observers = [
  "src/cli/serve-console.ts",
  "src/cli/serve.ts",
  "src/core/observability/fixed-window-limiter.ts",
  "src/core/observability/log.ts",
  "src/core/observability/metrics.ts",
  "src/console/recent-requests.ts",
  "src/console/recent-samples.ts",
  "src/core/store/readiness.ts",
  "src/console/recent-creates.ts",
];

/** Beside the path, for an id that a JavaScript number cannot represent. */
const exactIds = ["src/core/contract/int64.ts", "src/core/contract/json-scanner.ts"];

test(`a create runs functions of at most ${filesMax} files, and those of observers`, async () => {
  using folder = new TemporaryFolder();
  await using recorded = await RecordedServer.start(folder);
  const target = { url: recorded.server.url, token: await recorded.server.createToken() };
  const create = async (id: bigint) =>
    expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);

  /** Background tasks run during some creates, but not during all: the shortest of several reports is that of a create. */
  const recordCreate = async (firstId: bigint): Promise<RecordedFiles> => {
    const reports: RecordedFiles[] = [];
    for (let id = firstId; id < firstId + 8n; id++) {
      await recorded.takeReport();
      await create(id);
      reports.push(await recorded.takeReport());
    }
    const fileCount = ({ mainThread, commitThread }: RecordedFiles) =>
      mainThread.length + commitThread.length;
    const [shortest] = reports.toSorted((one, other) => fileCount(one) - fileCount(other));
    return shortest ?? { mainThread: [], commitThread: [] };
  };

  // The first create looks its token up in the store, the second one in memory, and later ones recall its credentials.
  await create(-1n);
  await create(0n);
  const { mainThread, commitThread } = await recordCreate(1n);
  const path: RecordedFiles = {
    mainThread: mainThread.filter((file) => !observers.includes(file)),
    commitThread,
  };
  const files = new Set([...path.mainThread, ...path.commitThread]);
  const lists = { "Main thread": path.mainThread, "Commit thread": path.commitThread, Observers: observers };
  const lines = Object.entries(lists).map(([title, list]) => `${title}:\n  ${list.join("\n  ")}\n`);
  process.stdout.write(`A create runs functions of ${files.size} files.\n${lines.join("")}`);
  expect(path).toEqual(createPath);
  expect(files.size).toBeLessThanOrEqual(filesMax);
  expect(mainThread.filter((file) => observers.includes(file)).toSorted()).toEqual(observers);

  const exact = await recordCreate(2n ** 62n);
  expect([...exact.mainThread].toSorted()).toEqual([...mainThread, ...exactIds].toSorted());
  expect(exact.commitThread).toEqual(createPath.commitThread);
}, 120_000);
