// Store files that are removed, replaced, damaged, or open in two servers.

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { newPlantJson } from "../../../src/core/contract/plant.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

/** Each starts several processes. */
setDefaultTimeout(120_000);

async function started(path: string): Promise<{ server: RunningServer; token: string }> {
  const server = await RunningServer.start({ database: `sqlite:${path}` });
  return { server, token: await server.createToken() };
}

test.each(["", "-wal", "-shm"])(
  "plants.db%s removed under a running server: plants get 503 until it is back, and none is lost",
  async (suffix) => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    const { server, token } = await started(path);
    await using _ = server;
    const target = { url: server.url, token };
    expect((await post(target, plantJson(1n, "before"))).status).toBe(200);
    renameSync(path + suffix, folder.file("away"));
    const refused = await post(target, plantJson(2n, "meanwhile"));
    expect(refused.json).toMatchObject({ error: 50300 });
    const line = await server.logged(({ level }) => level === "warn");
    expect(line.reason).toContain(`plants.db${suffix} was removed or replaced while it was open`);
    const ready = await fetch(`${await server.adminUrl()}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining("was removed or replaced"),
    ]);

    // A copy at its path is a different file.
    copyFileSync(folder.file("away"), path + suffix);
    expect((await post(target, plantJson(3n, "meanwhile"))).status).toBe(503);
    renameSync(folder.file("away"), path + suffix);
    expect((await post(target, plantJson(4n, "after"))).status).toBe(200);
    const { stdout } = await server.command("export");
    expect(stdout).toBe(
      `${newPlantJson({ id: 1n, name: "before" })}\n${newPlantJson({ id: 4n, name: "after" })}\n`,
    );
  },
);

test("a file of a newer version is refused at the start, and not changed", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const database = `sqlite:${path}`;
  expect((await runCommand(["migrate", "--database", database])).exitCode).toBe(0);
  const newer = new Database(path);
  newer.run("PRAGMA user_version = 99");
  newer.close();
  const before = readFileSync(path);
  const refusal = await runCommand(["serve", "--port", "0", "--admin-port", "0", "--database", database]);
  expect([refusal.exitCode, refusal.stderr]).toEqual([1, expect.stringContaining("has schema version 99")]);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("damaged pages: their plants get 503, never a wrong response, and all others 200", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { server, token } = await started(path);
  const load = new Load();
  const running = load.untilGone([{ url: server.url, token }], 8);
  await load.acknowledgedMore(400);
  load.stop();
  await running;
  await server.stop();

  const file = readFileSync(path);
  const pages = file.length / 4_096;
  // Leaf pages in the middle; the first pages hold the schema and the tokens.
  for (let page = Math.floor(pages / 2); page < pages / 2 + 3; page++)
    file.fill(0xee, page * 4_096, page * 4_096 + 64);
  writeFileSync(path, file);
  await using again = await RunningServer.start({ database: `sqlite:${path}` });
  const target = { url: again.url, token };
  const statuses = new Map<number, number>();
  for (const id of load.acknowledged) {
    const { status } = await post(target, load.sent.get(id) ?? "");
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // The same id with other content must not be acknowledged.
    if (status === 503) expect((await post(target, plantJson(id, "other"))).status).not.toBe(200);
  }
  expect([...statuses.keys()].toSorted()).toEqual([200, 503]);
  expect(statuses.get(200)).toBeGreaterThan(200);
  const line = await again.logged(({ level }) => level === "warn");
  expect(line.reason).toContain("SQLITE_CORRUPT");
});

test("a damaged store: every command that reads it, and the start of a server, end with one line", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { server, token } = await started(path);
  const load = new Load();
  const running = load.untilGone([{ url: server.url, token }], 8);
  await load.acknowledgedMore(400);
  load.stop();
  await running;
  await server.stop();
  const file = readFileSync(path);
  // All pages but the first, which has the schema.
  for (let page = 1; page < file.length / 4_096; page++) file.fill(0xee, page * 4_096, page * 4_096 + 64);
  writeFileSync(path, file);
  const [id = 0n] = load.acknowledged;
  for (const command of [
    ["get", String(id)],
    ["export"],
    ["export", "--tag", "x"],
    ["stats"],
    ["token", "list"],
    ["token", "create", "--name", "new"],
    ["delete", String(id)],
    ["serve", "--port", "0", "--admin-port", "0"],
  ]) {
    const { exitCode, stderr } = await runCommand([...command, "--database", `sqlite:${path}`]);
    expect([command, exitCode]).toEqual([command, 1]);
    expect([command, stderr.trimEnd().split("\n").at(-1)]).toEqual([
      command,
      expect.stringMatching(/^plantstore: (?!internal).*database disk image is malformed/),
    ]);
    expect([command, stderr]).toEqual([command, expect.not.stringContaining("    at ")]);
  }
});

test("a truncated WAL: its complete transactions are recovered, and no other part of it", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { server, token } = await started(path);
  const load = new Load();
  const running = load.untilGone([{ url: server.url, token }], 8);
  await load.acknowledgedMore(200);
  await server.stop("SIGKILL");
  await running;
  truncateSync(`${path}-wal`, Math.floor(readFileSync(`${path}-wal`).length * 0.6));
  rmSync(`${path}-shm`, { force: true });
  await using again = await RunningServer.start({ database: `sqlite:${path}` });
  const faults = load.audit((await again.command("export")).stdout);
  // Plants of the missing part are lost; all others are as they were sent.
  expect(faults.filter((fault) => !fault.startsWith("lost"))).toEqual([]);
  expect(faults.length).toBeLessThan(load.acknowledged.size);
});

test("two servers create one file and share it: every race has one winner, and no plant is lost", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const servers = await Promise.all([0, 1].map(() => RunningServer.start({ database })));
  await using one = servers[0];
  await using two = servers[1];
  if (one === undefined || two === undefined) throw new Error("There are no two servers");
  const token = await one.createToken();
  const targets = [one, two].map(({ url }) => ({ url, token }));
  const load = new Load();
  const running = load.untilGone(targets, 16);
  const winners: string[] = [];
  for (let id = 1n; id <= 30n; id++) {
    const names = ["left", "right"];
    const answers = await Promise.all(
      targets.map((target, index) => post(target, plantJson(id, names[index] ?? ""))),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    winners.push(newPlantJson({ id, name: names[answers.findIndex(({ status }) => status === 200)] ?? "" }));
  }
  load.stop();
  await running;
  const { stdout } = await one.command("export");
  for (const winner of winners) expect(stdout).toContain(`${winner}\n`);
  expect(load.audit(stdout).filter((fault) => fault.startsWith("lost"))).toEqual([]);
});
