// plantstore ready: finds the server by its settings, waits for it, and reports why it is not
// ready.

import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { makeCertificate } from "../../support/certificates.ts";
import { reservePort } from "../../support/ports.ts";
import { testIfInstalled } from "../../support/programs.ts";
import {
  type CommandResult,
  plantstore,
  RunningServer,
  runCommand,
  TemporaryFolder,
} from "../../support/server.ts";

const ready: CommandResult = { exitCode: 0, stdout: "ready\n", stderr: "" };

// Beyond loopback the admin listener requires one.
const password = Bun.password.hashSync("correct horse", {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

/** Starts the command before the server, with the settings of both, and returns its result. */
async function waitForStart(variables: Record<string, string>): Promise<CommandResult> {
  using folder = new TemporaryFolder();
  const env = {
    ...{ PLANTSTORE_PORT: String(reservePort()), PLANTSTORE_ADMIN_PORT: String(reservePort()) },
    ...{ ...variables, PLANTSTORE_DATABASE: `sqlite:${folder.file("plants.db")}` },
  };
  // A proxy of the environment need not reach the addresses of this machine.
  const waiting = runCommand(["ready", "--wait-seconds-max", "60"], {
    ...env,
    http_proxy: "http://127.0.0.1:1",
  });
  const server = Bun.spawn([plantstore, "serve"], {
    env: { PATH: process.env.PATH, ...env },
    stdout: "ignore",
    stderr: "ignore",
  });
  const result = await waiting;
  server.kill();
  expect(await server.exited).toBe(0);
  return result;
}

test("it waits for the admin listener, on any address", async () => {
  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === "::1"),
  );
  const hosts = ["127.0.0.2", "0.0.0.0", "localhost", ...(hasIpv6 ? ["::1", "::"] : [])];
  for (const host of hosts) {
    const variables = { PLANTSTORE_ADMIN_HOST: host, PLANTSTORE_ADMIN_PASSWORD_HASH: password };
    expect(await waitForStart(variables)).toEqual(ready);
  }
}, 60_000);

test("it waits for the public listener if there is no admin listener", async () => {
  expect(await waitForStart({ PLANTSTORE_ADMIN_PORT: "off", PLANTSTORE_HOST: "0.0.0.0" })).toEqual(ready);
});

testIfInstalled("openssl", "it waits for a public listener with TLS", async () => {
  using folder = new TemporaryFolder();
  const { certificate, key } = makeCertificate(folder, "site", "/CN=a", "IP:127.0.0.1");
  const tls = { PLANTSTORE_TLS_CERTIFICATE: certificate, PLANTSTORE_TLS_KEY: key };
  expect(await waitForStart({ ...tls, PLANTSTORE_ADMIN_PORT: "off" })).toEqual(ready);
});

test("it fails with the reason: no server, a store that cannot commit, wrong settings", async () => {
  const port = String(reservePort());
  const missing = await runCommand(["ready", "--admin-port", port]);
  expect({ ...missing, stderr: "" }).toEqual({ exitCode: 1, stdout: "", stderr: "" });
  expect(missing.stderr).toMatch(
    new RegExp(`^plantstore: not ready: http://127\\.0\\.0\\.1:${port}: [^\n]+\n$`),
  );

  using listener = Bun.serve({ port: 0, fetch: () => new Response("database is locked\n", { status: 503 }) });
  expect(await runCommand(["ready", "--admin-port", String(listener.port)])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `plantstore: not ready: http://127.0.0.1:${listener.port}/readyz responded with 503: database is locked\n`,
  });

  expect((await runCommand(["ready", "--admin-port", "99999"])).exitCode).toBe(2);
  expect(await runCommand(["ready", "--admin-port", "off", "--port", "0"])).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: "plantstore: --port 0 is a port that only the server knows; give --admin-port a number\n",
  });
});

test("it reads no secret: the files of a unit or a container may be hidden from it", async () => {
  const { stderr, exitCode } = await runCommand(["ready", "--admin-port", String(reservePort())], {
    ...{ PLANTSTORE_DATABASE_FILE: "/nonexistent", PLANTSTORE_ADMIN_PASSWORD_HASH_FILE: "/nonexistent" },
    ...{ PLANTSTORE_ADMIN_HOST: "0.0.0.0", PLANTSTORE_TLS_CERTIFICATE: "/nonexistent" },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining("not ready") });
});

test("a running server is ready at once, and no longer when it has stopped", async () => {
  using folder = new TemporaryFolder();
  const server = await RunningServer.startInProcess({ database: `sqlite:${folder.file("plants.db")}` });
  const { port } = new URL(await server.adminUrl());
  expect(await runCommand(["ready", "--admin-port", port])).toEqual(ready);
  await server.stop();
  expect((await runCommand(["ready", "--admin-port", port])).exitCode).toBe(1);
});
