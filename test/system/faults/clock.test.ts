// A system clock that jumps under a running server: only the expiry of tokens depends on it.

import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

/** Replaced atomically, because a server reads it at any time. */
function setClock(file: string, ahead: string): void {
  writeFileSync(`${file}.new`, `${ahead}\n`);
  renameSync(`${file}.new`, file);
}

const pids: number[] = [];
// libfaketime does not remove its shared memory.
afterAll(() => {
  for (const pid of pids)
    for (const prefix of ["faketime_shm_", "sem.faketime_sem_"])
      rmSync(`/dev/shm/${prefix}${pid}`, { force: true });
});

/** A server that reads the offset of its clock from a file. */
async function serverWithClock(
  folder: TemporaryFolder,
  clock: string,
  ...args: string[]
): Promise<RunningServer> {
  setClock(clock, "+0");
  const { stdout } = spawnSync(programPath("faketime"), ["-m", "-f", "+0", "printenv", "LD_PRELOAD"], {
    encoding: "utf8",
  });
  const server = await RunningServer.start({
    database: `sqlite:${folder.file("plants.db")}`,
    args,
    env: {
      LD_PRELOAD: stdout.trim(),
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: "1",
      // As when a system clock is set: the monotonic clock does not change.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
  });
  pids.push(server.pid);
  return server;
}

describeIfInstalled("faketime", "a clock that jumps", () => {
  test("a token expires by the system clock; no plant is lost, and no other request fails", async () => {
    using folder = new TemporaryFolder();
    const clock = folder.file("clock");
    await using server = await serverWithClock(folder, clock);
    const forever = await server.target();
    const limited = { url: server.url, token: await server.createToken("limited", 3_600_000) };
    const load = new Load();
    load.startUntilGone([forever], 8);
    let id = 0n;
    for (const [ahead, status] of [
      ["+0", 200],
      ["+2h", 401],
      ["-3d", 200],
      ["+10y", 401],
      ["+59m", 200],
      ["-20y", 200],
    ] as const) {
      setClock(clock, ahead);
      expect((await post(limited, plantJson(id++, ahead))).status).toBe(status);
      await load.acknowledgedMore(200);
    }
    // A revocation is noticed within 2 seconds of the monotonic clock, also while the system clock
    // jumps.
    expect((await server.command("token", "revoke", "limited")).exitCode).toBe(0);
    for (let jump = 0; (await post(limited, plantJson(id++, "revoked"))).status !== 401; jump++) {
      setClock(clock, jump % 2 === 0 ? "-30d" : "-40d");
    }
    await load.stop();
    expect([...load.statuses.keys()]).toEqual([200]);
    const { exitCode, stderr } = await server.stop();
    expect([exitCode, stderr]).toEqual([0, expect.not.stringMatching(/"level":"(?:warn|error)"/)]);
    await using again = await RunningServer.start({ database: server.database });
    const faults = load.audit((await again.command("export")).stdout);
    expect(faults.filter((fault) => fault.startsWith("lost"))).toEqual([]);
  });

  test("a token's rate does not depend on the system clock", async () => {
    using folder = new TemporaryFolder();
    const clock = folder.file("clock");
    // A window of ten minutes: the test is over long before.
    const rate = ["--token-rate", "1", "--token-burst", "600"];
    await using server = await serverWithClock(folder, clock, ...rate);
    const target = await server.target();
    let left = 599;
    for (const ahead of ["+0", "-2h", "+2h", "-20y", "+10y"]) {
      setClock(clock, ahead);
      const { status, headers } = await post(target, plantJson(BigInt(left), ahead));
      const [, remaining, seconds] = /^"token";r=(\d+);t=(\d+)$/.exec(headers.get("ratelimit") ?? "") ?? [];
      expect([status, Number(remaining)]).toEqual([200, left--]);
      expect(Number(seconds)).toBeWithin(1, 601);
    }
    let refused = await post(target, plantJson(1_000n, "Monstera"));
    while (refused.status === 200) refused = await post(target, plantJson(1_000n, "Monstera"));
    for (const ahead of ["-2h", "+2h"]) {
      setClock(clock, ahead);
      const { status, headers } = await post(target, plantJson(1_001n, ahead));
      expect([status, Number(headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
      expect(Number(headers.get("retry-after"))).toBeWithin(1, 601);
    }
  });
});
