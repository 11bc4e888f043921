// A system clock that is wrong or jumps: only the expiry of tokens depends on it, and nothing is
// ever deleted because of it.

import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { RunningServer, run, runCommand, TemporaryFolder } from "../../support/server.ts";
import { exported, storeLines } from "../../support/stored-plants.ts";

/** The offset of the clock of processes, in a file. */
class Clock {
  readonly environment: Record<string, string>;
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    this.set("+0");
    const printed = spawnSync(programPath("faketime"), ["-m", "-f", "+0", "printenv", "LD_PRELOAD"]);
    this.environment = {
      LD_PRELOAD: printed.stdout.toString().trim(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      // As when a system clock is set: the monotonic clock does not change.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** Replaces the file atomically, because a server reads it at any time. */
  set(ahead: string): void {
    writeFileSync(`${this.#file}.new`, `${ahead}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}

const pids: number[] = [];
// libfaketime does not remove its shared memory.
afterAll(() => {
  for (const pid of pids)
    for (const prefix of ["faketime_shm_", "sem.faketime_sem_"])
      rmSync(`/dev/shm/${prefix}${pid}`, { force: true });
});

async function startServer(database: string, { environment: env }: Clock): Promise<RunningServer> {
  const server = await RunningServer.start({ database, env });
  pids.push(server.pid);
  return server;
}

describeIfInstalled("faketime", "the clock", () => {
  test("jumps: a token expires by it; no plant is lost, and no other request fails", async () => {
    using folder = new TemporaryFolder();
    const clock = new Clock(folder.file("clock"));
    await using server = await startServer(`sqlite:${folder.file("plants.db")}`, clock);
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
      clock.set(ahead);
      expect((await post(limited, plantJson(id++, ahead))).status).toBe(status);
      await load.acknowledgedMore(200);
    }
    // A revocation is noticed within 2 seconds of the monotonic clock, also while the system clock
    // jumps.
    expect((await server.command("token", "revoke", "limited")).exitCode).toBe(0);
    for (let jump = 0; (await post(limited, plantJson(id++, "revoked"))).status !== 401; jump++)
      clock.set(jump % 2 === 0 ? "-30d" : "-40d");
    await load.stop();
    expect([...load.statuses.keys()]).toEqual([200]);
    const { exitCode, stderr } = await server.stop();
    expect([exitCode, stderr]).toEqual([0, expect.not.stringMatching(/"level":"(?:warn|error)"/)]);
    const faults = load.audit(await exported(server.database));
    expect(faults.filter((fault) => fault.startsWith("lost"))).toEqual([]);
  });

  test("is a year ahead and a year behind: afterwards history, tokens and plants are there as before", async () => {
    using folder = new TemporaryFolder();
    const clock = new Clock(folder.file("clock"));
    const database = `sqlite:${folder.file("plants.db")}`;
    await storeLines(
      database,
      [1n, 2n, 3n, 4n, 5n].map((id) => plantJson(id, "Monstera")),
    );
    const command = async (line: string, env?: Record<string, string>) => {
      const args = [...line.split(" "), "--database", database];
      const { exitCode, stdout, stderr } = await (env === undefined ? runCommand(args) : run(args, env));
      expect([line, exitCode, exitCode === 0 ? "" : stderr]).toEqual([line, 0, ""]);
      return stdout.trimEnd();
    };
    const rotated = await command("token create --name ci");
    await command("token rotate ci --overlap 7d");
    const brief = await command("token create --name brief --expires 30d");
    for (const line of ["token create --name gone", "token revoke gone", "update 1 --name Ficus", "delete 2"])
      await command(line);
    const history = async () => (await command("history --json")).split("\n");
    const tokens = async () =>
      (await command("token list --all --json")).replaceAll(/"lastUsed":[^}]*/g, "").split("\n");
    const before = { history: await history(), tokens: await tokens() };

    for (const [ahead, id, status] of [
      ["+365d", 3n, 401],
      ["-365d", 4n, 200],
    ] as const) {
      clock.set(ahead);
      await using server = await startServer(database, clock);
      const own = await command(`token create --name of-${id} --expires 1d`, clock.environment);
      for (const token of [rotated, brief])
        expect((await post({ url: server.url, token }, plantJson(1n, "Ficus"))).status).toBe(status);
      expect((await post({ url: server.url, token: own }, plantJson(10n * id, ahead))).status).toBe(200);
      await command(`update ${id} --name ${ahead}`, clock.environment);
      await command(`token revoke of-${id}`, clock.environment);
      await server.stop();
    }

    clock.set("+0");
    await using server = await startServer(database, clock);
    for (const token of [rotated, brief])
      expect((await post({ url: server.url, token }, plantJson(5n, "Monstera"))).status).toBe(200);
    const after = { history: await history(), tokens: await tokens() };
    expect(after.history).toEqual(expect.arrayContaining(before.history));
    expect(after.history).toHaveLength(before.history.length + 2);
    expect(after.tokens).toEqual(expect.arrayContaining(before.tokens));
    expect(after.tokens).toHaveLength(before.tokens.length + 2);
    const names: readonly (readonly [id: bigint, name: string])[] = [
      [1n, "Ficus"],
      [3n, "+365d"],
      [4n, "-365d"],
      [5n, "Monstera"],
      [30n, "+365d"],
      [40n, "-365d"],
    ];
    expect(await exported(database)).toBe(names.map(([id, name]) => `${plantJson(id, name)}\n`).join(""));
  });
});
