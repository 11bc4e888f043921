// Backup and restore beside a server of another process, and on file systems that are read-only or full.

import { afterAll, expect, test } from "bun:test";
import { copyFileSync, linkSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { Load } from "../../support/load.ts";
import { describeUnless } from "../../support/programs.ts";
import { RunningServer, run } from "../../support/server.ts";
import {
  argumentsOf,
  commandNames,
  createStoreFolders,
  execute,
  expectRefusal,
  snapshot,
} from "../../support/store-folders.ts";
import { exported, storePlants } from "../../support/stored-plants.ts";
import { mounted, notMounted } from "./mounts.ts";

const stores = await createStoreFolders();
afterAll(() => stores[Symbol.dispose]());

test.each(commandNames)(
  "%s: a file that a server under load has open is refused, and the server loses nothing",
  async (command) => {
    using folder = stores.newFolder();
    const database = `sqlite:${folder.file("plants.db")}`;
    await using server = await RunningServer.start({ database });
    const load = new Load();
    const token = await server.createToken();
    // With pauses: the commands need the processors, too.
    load.start([{ url: server.url, token }], 8, 10);
    await load.acknowledgedMore(50);
    symlinkSync("plants.db", folder.file("link.db"));
    linkSync(folder.file("plants.db"), folder.file("hard.db"));
    for (const name of ["plants.db", "link.db", "hard.db", "plants.db-wal"])
      for (const source of ["plants.db", "other.db"]) {
        const result = await run(argumentsOf(command, folder, name, { source, force: true }));
        // 2: a value of --database that no store can have.
        expectRefusal(result, /./, command === "restore" && name === "plants.db-wal" ? 2 : 1);
      }
    await load.acknowledgedMore(50);
    await load.stop();
    expect([...load.statuses.keys()]).toEqual([200]);
    await server.stop("SIGKILL");
    rmSync(folder.file("hard.db"));
    const faults = load.audit(await exported(database));
    // The plants that were there before.
    const others = [0, 1, 2].map((id) => `changed or never sent: ${id}`);
    expect(faults.toSorted()).toEqual(others);
  },
);

describeUnless(notMounted, "a file system", () => {
  test.each(commandNames)("that is read-only: %s fails, and nothing is changed", async (command) => {
    using folder = stores.newFolder();
    using disk = mounted(folder.file("disk"));
    copyFileSync(folder.file("other.db"), folder.file("disk/other.db"));
    disk?.makeReadOnly();
    expectRefusal(await execute(command, folder, "disk/new.db"), /EROFS/);
    expect(readdirSync(folder.file("disk"))).toEqual(["other.db"]);
  });

  test.each(commandNames)("that is full: %s fails, and nothing is changed", async (command) => {
    using folder = stores.newFolder();
    using _ = mounted(folder.file("disk"));
    copyFileSync(folder.file("plants.db"), folder.file("large.db"));
    const plants = Array.from({ length: 4_000 }, (_, id) => ({
      id: BigInt(id + 1_000),
      name: "x".repeat(1_000),
    }));
    await storePlants(`sqlite:${folder.file("large.db")}`, plants);
    const old = command === "backup" ? "backup.db" : "other.db";
    copyFileSync(folder.file(old), folder.file("disk/old.db"));
    const before = snapshot(folder.file("disk"));
    for (const name of command === "backup" ? ["new.db"] : ["old.db", "new.db"]) {
      const given = { source: "large.db", force: true };
      expectRefusal(await execute(command, folder, `disk/${name}`, given), /full|ENOSPC/);
      expect(snapshot(folder.file("disk"))).toEqual(before);
    }
  });
});
