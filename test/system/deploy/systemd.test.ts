// The systemd unit: valid, sandboxed, and consistent with the settings of the server.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { settings } from "../../../src/process/config/settings.ts";
import { readEnvironment } from "../../../src/process/config/sources.ts";
import { reservePort } from "../../support/ports.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { plantstore, run, TemporaryFolder } from "../../support/server.ts";

const unit = await Bun.file(new URL("../../../deploy/systemd/plantstore@.service", import.meta.url)).text();

/** From 0 to 100, on the scale of systemd-analyze security, where up to 20 is "OK". */
const exposureMax = 20;

/** Writes the unit with the path of this checkout's program, which is not installed. */
function install(folder: TemporaryFolder): string {
  const file = folder.file("plantstore@.service");
  writeFileSync(file, unit.replaceAll("=plantstore ", `=${plantstore} `));
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
  const named = unit.match(/PLANTSTORE_\w+/g) ?? [];
  expect(named.length).toBeGreaterThan(3);
  // Throws for an unknown one.
  for (const name of named) readEnvironment({ [name]: "" });
});

test("it starts the server, and waits until it is ready, by commands with these settings", async () => {
  const [, serve = ""] = /^ExecStart=plantstore (.+)$/m.exec(unit) ?? [];
  const [, ready = ""] = /^ExecStartPost=plantstore (.+)$/m.exec(unit) ?? [];
  const names = Object.fromEntries(
    [...unit.matchAll(/^Environment=(PLANTSTORE_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("database"), `sqlite:${folder.file("plants.db")}\n`);
  const env = {
    ...names,
    PLANTSTORE_DATABASE_FILE: folder.file("database"),
    PLANTSTORE_PORT: String(reservePort()),
    PLANTSTORE_ADMIN_PORT: String(reservePort()),
  };
  const server = Bun.spawn([plantstore, ...serve.split(" ")], { env, stdout: "pipe", stderr: "ignore" });
  // systemd 252 hides the credentials of a unit from its ExecStartPost.
  const hidden = { ...env, PLANTSTORE_DATABASE_FILE: folder.file("hidden") };
  expect(await run(ready.split(" "), hidden)).toEqual({ exitCode: 0, stdout: "ready\n", stderr: "" });
  server.kill();
  // Its address alone: a first token would be in the journal.
  expect(await server.stdout.text()).toBe(`http://127.0.0.1:${env.PLANTSTORE_PORT}\n`);
  expect(await server.exited).toBe(0);
});

describeIfInstalled("systemd-analyze", "systemd-analyze", () => {
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
});
