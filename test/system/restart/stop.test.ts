// Shutdown: accepted requests are completed, the store is closed, the exit code is 0.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { logLines } from "../../support/output.ts";
import { sendSignal } from "../../support/processes.ts";
import { RawConnection, stuckCreate } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";

const servers = new AsyncDisposableStack();
afterAll(() => servers.disposeAsync());

/** Starts a server with a create of which it has read a part. */
async function startWithStuckCreate(body: string, length: number, ...args: string[]) {
  const server = servers.use(await RunningServer.start({ args }));
  const target = await server.target();
  const stuck = await stuckCreate(target, `Content-Length: ${length}`, body);
  await eventually(
    "the server reads the body",
    () => server.metric("plantstore_body_bytes"),
    (bytes) => bytes > 0,
  );
  return { server, target, stuck };
}

for (const engine of engines) {
  describe(engine.name, () => {
    test.each(["SIGTERM", "SIGINT"] as const)(
      "%s under load: accepted requests are completed, and no acknowledged plant is lost",
      async (signal) => {
        await using place = await engine.createTestStore();
        const server = await RunningServer.start(place);
        const load = new Load();
        load.startUntilGone([await server.target()], 50);
        await load.acknowledgedMore(50);
        const { exitCode, stderr } = await server.stop(signal);
        await load.ended();
        expect(exitCode).toBe(0);
        const lines = logLines(stderr);
        expect(lines).toContainEqual(expect.objectContaining({ level: "info", signal }));
        expect(lines.at(-1)).toMatchObject({ msg: "stopped" });
        expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
        expect(load.audit((await server.command("export")).stdout)).toEqual([]);
      },
    );
  });
}

// The following tests do not depend on the engine.

test("a request with an incomplete body is completed, with Connection: close, and an idle connection does not delay the shutdown", async () => {
  const body = plantJson(1n, "slow");
  const { server, stuck } = await startWithStuckCreate(body.slice(0, 5), body.length);
  const idle = await RawConnection.open(server.url);
  const stopping = server.stop();
  // As npm does, which forwards a signal that the terminal has also sent.
  process.kill(server.pid, "SIGTERM");
  process.kill(server.pid, "SIGINT");
  await server.logged(({ msg }) => msg.startsWith("shutting down"));
  stuck.write(body.slice(5));
  const answer = await stuck.closed;
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\{"name":"slow"\}$/);
  expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
  expect((await stopping).exitCode).toBe(0);
  idle.terminate();
});

test("a request that never completes is closed after --drain-seconds-max", async () => {
  const { server } = await startWithStuckCreate("{", 50, "--drain-seconds-max", "1");
  expect((await server.stop()).exitCode).toBe(0);
});

test("a second signal, later, ends the process immediately", async () => {
  const hour = ["--drain-seconds-max", "3600"];
  const { server, stuck } = await startWithStuckCreate("{", 50, ...hour);
  const stopping = server.stop();
  await server.logged(({ msg }) => msg.startsWith("shutting down"));
  // Signals that follow the first one at once belong to the same request to stop.
  let end: Awaited<typeof stopping> | undefined;
  void stopping.then((ended) => {
    end = ended;
  });
  const { exitCode, stderr } = await eventually("the process has ended", () => {
    if (end === undefined) sendSignal(server.pid, "SIGTERM");
    return end;
  }).then(() => stopping);
  expect(exitCode).toBe(1);
  expect(logLines(stderr).at(-1)).toMatchObject({
    msg: "second signal, exiting immediately",
    signal: "SIGTERM",
  });
  stuck.terminate();
});

test("SIGHUP ends a server as SIGTERM does, unless nohup has said that it is to be ignored", async () => {
  await using server = await RunningServer.start();
  const { exitCode, stderr } = await server.stop("SIGHUP");
  expect(exitCode).toBe(0);
  expect(logLines(stderr)).toContainEqual(expect.objectContaining({ signal: "SIGHUP" }));

  await using kept = await RunningServer.start({ under: ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"] });
  const status = readFileSync(`/proc/${kept.pid}/status`, "utf8");
  // The lowest bit of the signals that the process ignores.
  expect(Number.parseInt(/^SigIgn:\s*\w*(\w)$/m.exec(status)?.[1] ?? "", 16) % 2).toBe(1);
});
