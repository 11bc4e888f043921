// A store that is temporarily not writable: 503, then 200 without a restart.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

test("sqlite: 50300 with Retry-After while another process holds the lock, and 200 afterwards", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const server = await RunningServer.start({ database: `sqlite:${path}` });
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);

  const other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  const [create, replay] = await Promise.all([
    post(target, plantJson(2n, "Ficus")),
    post(target, plantJson(1n, "Monstera")),
  ]);
  expect(create).toMatchObject({
    status: 503,
    json: { error: 50300, message: expect.stringContaining("retrying in 1 second is safe") },
  });
  expect(create.headers.get("retry-after")).toBe("1");
  expect(replay.status).toBe(200);
  other.run("COMMIT");
  other.close();

  expect((await post(target, plantJson(2n, "Ficus"))).status).toBe(200);
  await server.logged(
    ({ level, reason, msg }) =>
      level === "warn" &&
      reason === "database is locked (SQLITE_BUSY)" &&
      msg.startsWith("store unavailable"),
  );
  expect((await server.stop()).exitCode).toBe(0);
}, 30_000);
