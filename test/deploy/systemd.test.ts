// The systemd unit: systemd takes every line of it, and it lets the server do little.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { settings } from "../../src/config/settings.ts";
import { pathOf, programPath, suiteWith } from "../harness/programs.ts";
import { plantstore, TemporaryFolder } from "../harness/server.ts";

const unit = await Bun.file(new URL("../../deploy/systemd/plantstore@.service", import.meta.url)).text();

/** Of 100, on the scale of systemd-analyze security, which calls up to 20 "OK". */
const exposureMax = 20;

/** The unit as a file, for programs that are where this machine has them. */
function install(folder: TemporaryFolder): string {
  const file = folder.file("plantstore@.service");
  const present = unit
    .replace("/opt/plantstore/bin/plantstore", plantstore)
    .replace("/usr/bin/curl", pathOf("curl") ?? "/bin/true");
  writeFileSync(file, present);
  return file;
}

function analyze(...args: string[]): { exitCode: number; output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([programPath("systemd-analyze"), ...args]);
  return { exitCode, output: stdout.toString() + stderr.toString() };
}

test("it waits for longer than a server takes to stop, and opens more files than there may be connections", () => {
  const number = (name: string) => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(unit)?.[1]);
  expect(number("TimeoutStopSec")).toBeGreaterThan(Number(settings.drainSecondsMax.fallback) + 5);
  expect(number("LimitNOFILE")).toBeGreaterThan(Number(settings.connectionsMax.fallback) + 1_000);
});

test("the variables that it sets are settings", () => {
  const variables = Object.values(settings).flatMap(({ environment }) => [
    environment,
    `${environment}_FILE`,
  ]);
  const named = unit.match(/PLANTSTORE_\w+/g) ?? [];
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !variables.includes(name))).toEqual([]);
});

suiteWith(
  "systemd-analyze",
  "systemd-analyze",
  () => {
    test("has nothing to say about it", () => {
      using folder = new TemporaryFolder();
      expect(analyze("verify", "--man=no", install(folder))).toEqual({ exitCode: 0, output: "" });
    });

    test("finds it little exposed", () => {
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
