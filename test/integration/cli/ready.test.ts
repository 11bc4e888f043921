// plantstore ready: finds the server by its settings, waits for it, and reports why it is not
// ready.

import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { makeCertificate } from "../../support/certificates.ts";
import { reservePort } from "../../support/ports.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { type CommandResult, RunningServer, run, runCommand, TemporaryFolder } from "../../support/server.ts";

const ready: CommandResult = { exitCode: 0, stdout: "ready\n", stderr: "" };

// Beyond loopback the admin listener requires one.
const password = Bun.password.hashSync("correct horse", {
  algorithm: "argon2id",
  memoryCost: 8,
  timeCost: 1,
});

/** Starts the command before the server, with the settings of both, and returns its result. */
async function waitForStart(variables: Record<string, string>): Promise<CommandResult> {
  const env = {
    PLANTSTORE_PORT: String(reservePort()),
    PLANTSTORE_ADMIN_PORT: String(reservePort()),
    ...variables,
  };
  // A proxy of the environment need not reach the addresses of this machine.
  const waiting = run(["ready", "--wait-seconds-max", "60"], { ...env, http_proxy: "http://127.0.0.1:1" });
  await using _ = await RunningServer.startInProcess({
    args: ["--port", env.PLANTSTORE_PORT, "--admin-port", env.PLANTSTORE_ADMIN_PORT],
    env,
  });
  return await waiting;
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
});

test("it waits for the public listener if there is no admin listener", async () => {
  expect(await waitForStart({ PLANTSTORE_ADMIN_PORT: "off", PLANTSTORE_HOST: "0.0.0.0" })).toEqual(ready);
});

testIfInstalled("openssl", "it waits for a public listener with TLS", async () => {
  using folder = new TemporaryFolder();
  const { certificate, key } = makeCertificate(folder, "site", "/CN=a", "IP:127.0.0.1");
  const tls = { PLANTSTORE_TLS_CERTIFICATE: certificate, PLANTSTORE_TLS_KEY: key };
  expect(await waitForStart({ ...tls, PLANTSTORE_ADMIN_PORT: "off" })).toEqual(ready);
});

test("it fails with the reason: no server, a store that cannot commit", async () => {
  const port = String(reservePort());
  const missing = await runCommand(["ready", "--admin-port", port]);
  expect(missing).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `plantstore: not ready: http://127.0.0.1:${port} does not respond (ECONNREFUSED); start the server, or name its address with --admin-port\n`,
  });

  using listener = Bun.serve({ port: 0, fetch: () => new Response("database is locked\n", { status: 503 }) });
  expect(await runCommand(["ready", "--admin-port", String(listener.port)])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `plantstore: not ready: http://127.0.0.1:${listener.port}/readyz responded with 503: database is locked\n`,
  });
});

test("it reads no secret: the files of a unit or a container may be hidden from it", async () => {
  const { stderr, exitCode } = await runCommand(["ready", "--admin-port", String(reservePort())], {
    PLANTSTORE_DATABASE_FILE: "/nonexistent",
    PLANTSTORE_ADMIN_PASSWORD_HASH_FILE: "/nonexistent",
    PLANTSTORE_ADMIN_HOST: "0.0.0.0",
    PLANTSTORE_TLS_CERTIFICATE: "/nonexistent",
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining("not ready") });
});
