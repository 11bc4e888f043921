// An export of SQLite whose reader has stopped reading, beside creates.

import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { plantstore, RunningServer, TemporaryFolder } from "../../support/server.ts";
import { storeLines } from "../../support/stored-plants.ts";

test("SQLite's WAL grows during a blocked export, and is truncated afterwards", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const log = () => statSync(folder.file("plants.db-wal")).size;
  await storeLines(
    database,
    Array.from({ length: 2_000 }, (_, id) => plantJson(BigInt(id), "x".repeat(2_000))),
  );
  await using server = await RunningServer.startInProcess({ database });
  const target = { url: server.url, token: await server.createToken() };
  const child = Bun.spawn([plantstore, "export", "--database", database], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  await reader.read();
  const logBytesKept = 64 * 2 ** 20;
  let id = 10_000n;
  const create = () => post(target, plantJson(id++, "x".repeat(900_000)));
  while (log() < 1.5 * logBytesKept) expect((await create()).status).toBe(200);
  await reader.cancel();
  await child.exited;
  // The next commits restart the WAL after its checkpoint.
  for (let more = 0; log() > logBytesKept && more < 100; more++) await create();
  expect(log()).toBeLessThanOrEqual(logBytesKept);
}, 60_000);
