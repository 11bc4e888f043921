// Shutdown: accepted requests are completed, the store is closed, the exit code is 0.

import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { logLines } from "../../support/output.ts";
import { RawConnection, stuckCreate } from "../../support/raw-connection.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test.each(["SIGTERM", "SIGINT"] as const)(
      "%s under load: accepted requests are completed, and no acknowledged plant is lost",
      async (signal) => {
        await using place = await engine.createTestStore();
        const server = await RunningServer.start(place);
        const target = { url: server.url, token: await server.createToken() };
        const acknowledged = new Set<bigint>();
        const statuses = new Set<number>();
        const load = Array.from({ length: 50 }, async () => {
          for (;;) {
            const id = freshId();
            try {
              const { status } = await post(target, plantJson(id, "Monstera"));
              statuses.add(status);
              if (status === 200) acknowledged.add(id);
            } catch {
              // The server accepts no new connections.
              return;
            }
          }
        });
        await eventually(
          "more than 50 acknowledged plants",
          () => acknowledged.size,
          (plants) => plants > 50,
        );
        const { exitCode, stderr } = await server.stop(signal);
        await Promise.all(load);
        expect(exitCode).toBe(0);
        const lines = logLines(stderr);
        expect(lines).toContainEqual(expect.objectContaining({ level: "info", signal }));
        expect(lines.at(-1)).toMatchObject({ msg: "stopped" });
        expect(acknowledged.size).toBeGreaterThan(50);
        expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);

        const stored = new Set((await server.command("export")).stdout.match(/(?<="id":)-?\d+/g));
        for (const id of acknowledged) expect(stored.has(String(id))).toBe(true);
      },
    );

    test("a request with an incomplete body is completed, with Connection: close, and an idle connection does not delay the shutdown", async () => {
      await using place = await engine.createTestStore();
      const server = await RunningServer.start(place);
      const token = await server.createToken();
      const body = plantJson(1n, "slow");
      const idle = await RawConnection.open(server.url);
      const framing = `Content-Length: ${body.length}`;
      const slow = await stuckCreate({ url: server.url, token }, framing, body.slice(0, 5));
      await Bun.sleep(100);
      const stopping = server.stop();
      // As npm does, which forwards a signal that the terminal has also sent.
      process.kill(server.pid, "SIGTERM");
      process.kill(server.pid, "SIGINT");
      await server.logged(({ msg }) => msg.startsWith("shutting down"));
      slow.write(body.slice(5));
      const answer = await slow.closed;
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\{"name":"slow"\}$/);
      expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
      expect((await stopping).exitCode).toBe(0);
      idle.terminate();
    });

    test("a request that never completes is closed after --drain-seconds-max", async () => {
      await using place = await engine.createTestStore();
      const server = await RunningServer.start({
        database: place.database,
        args: ["--drain-seconds-max", "1"],
      });
      const token = await server.createToken();
      await stuckCreate({ url: server.url, token }, "Content-Length: 50", "{");
      await Bun.sleep(100);
      expect((await server.stop()).exitCode).toBe(0);
    });

    test("a second signal, later, ends the process immediately", async () => {
      await using place = await engine.createTestStore();
      const server = await RunningServer.start({
        database: place.database,
        args: ["--drain-seconds-max", "3600"],
      });
      const token = await server.createToken();
      const stuck = await stuckCreate({ url: server.url, token }, "Content-Length: 50", "{");
      await Bun.sleep(100);
      const stopping = server.stop();
      await server.logged(({ msg }) => msg.startsWith("shutting down"));
      await Bun.sleep(300);
      process.kill(server.pid, "SIGTERM");
      const { exitCode, stderr } = await stopping;
      expect(exitCode).toBe(1);
      expect(logLines(stderr).at(-1)).toMatchObject({ level: "warn", signal: "SIGTERM" });
      stuck.terminate();
    });

    test("during shutdown the server is not ready, and accepts no new connections", async () => {
      await using place = await engine.createTestStore();
      const server = await RunningServer.start(place);
      const adminUrl = await server.adminUrl();
      expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
      const target = { url: server.url, token: await server.createToken() };
      const stuck = await stuckCreate(target, "Content-Length: 50", "{");
      await Bun.sleep(100);
      const stopping = server.stop();
      await server.logged(({ msg }) => msg.startsWith("shutting down"));
      expect(await (await fetch(`${adminUrl}/readyz`)).text()).toBe("not ready: the server is stopping\n");
      expect((await fetch(`${adminUrl}/livez`)).status).toBe(200);
      await expect(post(target, plantJson(1n, "Monstera"))).rejects.toThrow();
      stuck.terminate();
      expect((await stopping).exitCode).toBe(0);
    });
  });
}

test("sqlite: after a shutdown the store is one file", async () => {
  using folder = new TemporaryFolder();
  const server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
  await post({ url: server.url, token: await server.createToken() }, plantJson(1n, "Monstera"));
  expect(existsSync(folder.file("plants.db-wal"))).toBe(true);
  await server.stop();
  expect(existsSync(folder.file("plants.db-wal"))).toBe(false);
});
