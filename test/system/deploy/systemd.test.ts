// The systemd unit: valid, sandboxed, and consistent with the settings of the server.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { settings } from "../../../src/config/settings.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { reservePort } from "../../support/ports.ts";
import { describeIfInstalled, pathOf, programPath } from "../../support/programs.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../../", import.meta.url).pathname;
const unit = await Bun.file(new URL("../../../deploy/systemd/plantstore@.service", import.meta.url)).text();

/** From 0 to 100, on the scale of systemd-analyze security, where up to 20 is "OK". */
const exposureMax = 20;

/** Writes the unit with the paths of this checkout. */
function install(folder: TemporaryFolder): string {
  const file = folder.file("plantstore@.service");
  writeFileSync(file, unit.replaceAll("/opt/plantstore/", root));
  return file;
}

function analyze(...args: string[]): { exitCode: number; output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([programPath("systemd-analyze"), ...args]);
  return { exitCode, output: stdout.toString() + stderr.toString() };
}

test("its stop timeout exceeds the drain time, and its file limit exceeds the connection limit", () => {
  const number = (name: string) => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(unit)?.[1]);
  expect(number("TimeoutStopSec")).toBeGreaterThan(Number(settings.drainSecondsMax.default) + 5);
  expect(number("LimitNOFILE")).toBeGreaterThan(Number(settings.connectionsMax.default) + 1_000);
});

test("its environment variables are settings", () => {
  const variables = Object.values(settings).flatMap(({ environment }) => [
    environment,
    `${environment}_FILE`,
  ]);
  const named = unit.match(/PLANTSTORE_\w+/g) ?? [];
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !variables.includes(name))).toEqual([]);
});

/** Runs the command of ExecStartPost with the variables of a server, and resolves with its exit code. */
function check(variables: Record<string, string>): Promise<number> {
  const [, command = ""] = /^ExecStartPost=(\S+)$/m.exec(unit) ?? [];
  const env = { PATH: process.env.PATH, ...variables };
  return Bun.spawn([command.replace("/opt/plantstore/", root)], { env, stderr: "inherit" }).exited;
}

function checkSuite(): void {
  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === "::1"),
  );
  // Beyond loopback the admin listener requires one.
  const password = Bun.password.hashSync("correct horse", {
    algorithm: "argon2id",
    memoryCost: 8,
    timeCost: 1,
  });

  /** Starts the check before the server, and asserts that it waits and succeeds. */
  async function assertCheckWaits(variables: Record<string, string>, tls = false): Promise<void> {
    using folder = new TemporaryFolder();
    const ports = { PLANTSTORE_PORT: String(reservePort()), PLANTSTORE_ADMIN_PORT: String(reservePort()) };
    const files = tls ? makeCertificate(folder, "site", "/CN=a", "IP:127.0.0.1") : undefined;
    const certificate =
      files === undefined
        ? {}
        : { PLANTSTORE_TLS_CERTIFICATE: files.certificate, PLANTSTORE_TLS_KEY: files.key };
    const env: Record<string, string> = { ...ports, ...certificate, ...variables };
    const checked = check({ ...env, http_proxy: "http://127.0.0.1:1" });
    const serve = Bun.spawn([`${root}bin/plantstore`, "serve"], {
      env: { PATH: process.env.PATH, ...env, PLANTSTORE_DATABASE: `sqlite:${folder.file("plants.db")}` },
      stdout: "ignore",
      stderr: "pipe",
    });
    const code = await checked;
    const isRunning = serve.exitCode === null;
    serve.kill();
    expect({ code, isRunning, log: isRunning ? "" : await serve.stderr.text() }).toEqual({
      code: 0,
      isRunning: true,
      log: "",
    });
    await serve.exited;
  }

  test("the start check finds the admin listener on any address", async () => {
    const hosts = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost", ...(hasIpv6 ? ["::1", "::"] : [])];
    // At the same time: a check that has failed waits a second before it asks again.
    await Promise.all(
      hosts.map((host) =>
        assertCheckWaits({ PLANTSTORE_ADMIN_HOST: host, PLANTSTORE_ADMIN_PASSWORD_HASH: password }),
      ),
    );
  }, 120_000);

  test("the start check uses the public listener if there is no admin listener", async () => {
    await assertCheckWaits({ PLANTSTORE_ADMIN_PORT: "off", PLANTSTORE_HOST: "0.0.0.0" });
    if (pathOf("openssl") !== null) await assertCheckWaits({ PLANTSTORE_ADMIN_PORT: "off" }, true);
  }, 120_000);

  test("the start check fails with wrong settings", async () => {
    using folder = new TemporaryFolder();
    const server = await RunningServer.start({
      database: `sqlite:${folder.file("plants.db")}`,
      env: { PLANTSTORE_ADMIN_PASSWORD_HASH: password },
    });
    const port = new URL(await server.adminUrl()).port;
    expect(await check({ PLANTSTORE_ADMIN_PORT: port })).toBe(0);
    expect(await check({ PLANTSTORE_ADMIN_PORT: "99999" })).not.toBe(0);
    await server.stop();
  });
}

describeIfInstalled("curl", "the start check", checkSuite);

describeIfInstalled(
  "systemd-analyze",
  "systemd-analyze",
  () => {
    test("verify reports nothing", () => {
      using folder = new TemporaryFolder();
      expect(analyze("verify", "--man=no", install(folder))).toEqual({ exitCode: 0, output: "" });
    });

    test("security rates its exposure as low", () => {
      using folder = new TemporaryFolder();
      const { exitCode, output } = analyze(
        "security",
        "--offline=true",
        `--threshold=${exposureMax}`,
        "--no-pager",
        install(folder),
      );
      expect(exitCode, output).toBe(0);
    });
  },
  "systemd",
);
