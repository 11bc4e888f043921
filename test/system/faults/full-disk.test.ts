// A full disk, on a small file system of its own, that has space again later.

import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { describeUnless } from "../../support/programs.ts";
import { createStore, RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { mounted, notMounted } from "./mounts.ts";

describeUnless(notMounted, "a full disk", () => {
  test("responds with 503, loses no plant, and creates plants again once there is space", async () => {
    using folder = new TemporaryFolder();
    const place = folder.file("disk");
    using _ = mounted(place);
    await using server = await RunningServer.start({ database: `sqlite:${place}/plants.db` });
    const target = await server.target();
    const load = new Load();
    const ballast = `${place}/ballast`;
    load.startUntilGone([target], 8);
    await load.acknowledgedMore(100);
    // More than the free space: as much as fits is written.
    try {
      writeFileSync(ballast, Buffer.alloc(4 * 2 ** 20));
    } catch {
      // The disk is full now.
    }
    await eventually(
      "50 creates are answered with 503",
      () => load.statuses.get(503) ?? 0,
      (answers) => answers >= 50,
    );
    const warning = await server.logged(({ level }) => level === "warn");
    expect(warning.reason).toMatch(/SQLITE_FULL|SQLITE_IOERR/);
    const ready = await fetch(`${await server.adminUrl()}/readyz`);
    expect(ready.status).toBe(503);

    rmSync(ballast);
    await load.acknowledgedMore(100);
    await load.stop();
    expect([...load.statuses.keys()].toSorted()).toEqual([200, 503]);
    const { exitCode } = await server.stop();
    expect(exitCode).toBe(0);
    await using again = await RunningServer.start({ database: `sqlite:${place}/plants.db` });
    expect(load.audit((await again.command("export")).stdout)).toEqual([]);
  });

  for (const engine of engines) {
    test(`${engine.name}: an import whose report does not fit ends with one line, and can be repeated once there is space`, async () => {
      await using store = await engine.createTestStore();
      using folder = new TemporaryFolder();
      const place = folder.file("disk");
      using _ = mounted(place);
      const wrong = `{"id": "no integer", "name": ${JSON.stringify("x".repeat(1_000))}}\n`;
      // 0.5 MB of lines that are rejected, and a report of them that is larger.
      const lines = `${plantJson(1n, "Monstera")}\n${wrong.repeat(500)}${plantJson(2n, "Ficus")}\n`;
      writeFileSync(`${place}/plants.ndjson`, lines);
      writeFileSync(`${place}/ballast`, Buffer.alloc(1_300_000));
      await createStore(store.database);
      const importing = () => runCommand(["import", `${place}/plants.ndjson`, "--database", store.database]);
      expect(await importing()).toEqual({
        exitCode: 1,
        stdout: "",
        stderr: expect.stringMatching(
          /^plantstore: the rejected records cannot be written to .*plants\.ndjson\.rejected\.ndjson \(ENOSPC\); give its folder free space and write permission, [^\n]*\n$/,
        ),
      });
      rmSync(`${place}/ballast`);
      expect((await importing()).exitCode).toBe(3);
      expect((await runCommand(["export", "--database", store.database])).stdout).toBe(
        `${plantJson(1n, "Monstera")}\n${plantJson(2n, "Ficus")}\n`,
      );
    });
  }
});
