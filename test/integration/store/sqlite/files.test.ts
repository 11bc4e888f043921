// Store files that are removed, replaced or damaged.

import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { plant, plantStore } from "../../../support/contracts.ts";
import { eventually } from "../../../support/eventually.ts";
import { plantJson, post } from "../../../support/http.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../../support/server.ts";
import { exported, openedStore, storePlants } from "../../../support/stored-plants.ts";

test("a store removed under a running server: plants get 503 until it is back, and none is lost", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await RunningServer.startInProcess({ database: `sqlite:${path}` });
  const target = await server.target();
  expect((await post(target, plantJson(1n, "before"))).status).toBe(200);
  renameSync(path, folder.file("away"));
  await eventually(
    "the server is not ready, without a create",
    async () => (await fetch(`${await server.adminUrl()}/readyz`)).text(),
    (text) => text.includes("plants.db was removed or replaced while it was open"),
  );
  const refused = await post(target, plantJson(2n, "meanwhile"));
  expect(refused.json).toMatchObject({
    error: 50300,
    message: expect.stringContaining("retrying in 1 second is safe"),
  });
  expect(refused.headers.get("retry-after")).toBe("1");
  // A replay needs no write, but files that were replaced are not read.
  expect((await post(target, plantJson(1n, "before"))).status).toBe(503);
  const line = await server.logged(({ level }) => level === "warn");
  expect(line.reason).toContain(`plants.db was removed or replaced while it was open`);

  renameSync(folder.file("away"), path);
  expect((await post(target, plantJson(4n, "after"))).status).toBe(200);
  expect(await exported(`sqlite:${path}`)).toBe(`${plantJson(1n, "before")}\n${plantJson(4n, "after")}\n`);
});

test("damaged pages: their plants get 503, never a wrong response, and all others 200", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const database = `sqlite:${path}`;
  const plants = Array.from({ length: 400 }, (_, id) => ({ id: BigInt(id), name: "x".repeat(400) }));
  await storePlants(database, plants);
  // Three pages in the middle; the first one has the schema.
  const file = readFileSync(path);
  const middle = Math.floor(file.length / 2 / 4_096);
  for (const page of [middle, middle + 1, middle + 2]) file.fill(0xee, page * 4_096, page * 4_096 + 64);
  writeFileSync(path, file);
  await using server = await RunningServer.startInProcess({ database });
  const target = await server.target();
  const statuses = new Map<number, number>();
  for (const plant of plants) {
    const { status } = await post(target, plantJson(plant.id, plant.name));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // The same id with other content must not be acknowledged.
    if (status === 503) expect((await post(target, plantJson(plant.id, "other"))).status).not.toBe(200);
  }
  expect([...statuses.keys()].toSorted()).toEqual([200, 503]);
  expect(statuses.get(200)).toBeGreaterThan(200);
  const line = await server.logged(({ level }) => level === "warn");
  expect(line.reason).toContain("SQLITE_CORRUPT");
});

describe("a write-ahead log beside a file that it does not belong to", () => {
  /** A store whose newest plant is in its log only, as after a kill. */
  async function killedStore(folder: TemporaryFolder): Promise<string> {
    const [open, path] = ["open.db", "plants.db"].map((name) => folder.file(name)) as [string, string];
    await using store = await openedStore(`sqlite:${open}`);
    await store.create(toEntries(plantStore, [plant({ id: 1n, name: "in the log" })]));
    for (const suffix of ["", "-wal"]) copyFileSync(open + suffix, path + suffix);
    return path;
  }

  const commands = [
    ["migrate"],
    ["serve", "--port", "0", "--admin-port", "0"],
    ["export"],
    ["import", import.meta.path],
    ["get", "1"],
    ["token", "list"],
    ["backup", "copy.db"],
  ];

  async function expectRefusals(path: string, reason: RegExp): Promise<void> {
    for (const command of commands) {
      const { exitCode, stderr } = await runCommand([...command, "--database", `sqlite:${path}`]);
      expect([command, exitCode]).toEqual([command, 1]);
      expect(stderr).toMatch(reason);
    }
  }

  test("without its file or beside an empty one every command refuses, and loses nothing", async () => {
    using folder = new TemporaryFolder();
    const path = await killedStore(folder);
    renameSync(path, folder.file("away.db"));
    await expectRefusals(path, /plants\.db-wal holds commits of another database|there is no store at/);
    const backup = folder.file("backup.db");
    await storePlants(`sqlite:${backup}`, []);
    const restored = await runCommand(["restore", backup, "--force", "--database", `sqlite:${path}`]);
    expect(restored.stderr).toContain("there is no");
    writeFileSync(path, "");
    expect((await runCommand(["migrate", "--database", `sqlite:${path}`])).stderr).toContain("is empty");
    renameSync(folder.file("away.db"), path);
    expect(await exported(`sqlite:${path}`)).toContain("in the log");
  });

  test("beside a backup that was moved over the file every command refuses", async () => {
    using folder = new TemporaryFolder();
    const path = await killedStore(folder);
    const backup = folder.file("backup.db");
    await storePlants(`sqlite:${folder.file("other.db")}`, [{ id: 1n, name: "other" }]);
    await runCommand(["backup", backup, "--database", `sqlite:${folder.file("other.db")}`]);
    renameSync(path, folder.file("away.db"));
    renameSync(backup, path);
    await expectRefusals(path, /is a backup, which "plantstore restore" puts in place/);
    renameSync(folder.file("away.db"), path);
    expect(await exported(`sqlite:${path}`)).toContain("in the log");
  });

  test("a server whose file was replaced moves its own aside when it stops", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    await storePlants(`sqlite:${folder.file("other.db")}`, [{ id: 2n, name: "other" }]);
    const backup = folder.file("backup.db");
    await runCommand(["backup", backup, "--database", `sqlite:${folder.file("other.db")}`]);
    {
      await using server = await RunningServer.startInProcess({ database: `sqlite:${path}` });
      expect((await post(await server.target(), plantJson(1n, "in the log"))).status).toBe(200);
      renameSync(path, folder.file("away.db"));
      renameSync(backup, path);
      const line = await server.logged(({ level }) => level === "warn");
      expect(line.reason).toContain('bring a backup back with "plantstore restore"');
      await server.stop();
    }
    expect(await exported(`sqlite:${path}`)).toBe(`${plantJson(2n, "other")}\n`);
    // Another file: this process has the first one open until it ends.
    copyFileSync(folder.file("away.db"), folder.file("copy.db"));
    renameSync(folder.file("plants.db.replaced-wal"), folder.file("copy.db-wal"));
    expect(await exported(`sqlite:${folder.file("copy.db")}`)).toContain("in the log");
  });
});
