// plantstore check: ready means that the store accepts writes.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { createStore, runCommand, TemporaryFolder } from "../../support/server.ts";

test.each(engines.map((engine) => [engine.name, engine] as const))(
  "%s: a store is ready",
  async (_, engine) => {
    await using place = await engine.createTestStore();
    await createStore(place.database);
    const ready = { exitCode: 0, stdout: "ready\n", stderr: "" };
    expect(await runCommand(["check", "--database", place.database])).toEqual(ready);
  },
);

test("sqlite: while another process holds the lock it is not ready, with an error of one line", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const database = `sqlite:${path}`;
  await createStore(database);
  using other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  expect(await runCommand(["check", "--database", database])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "plantstore: not ready: the store cannot be used: database is locked\n",
  });
  other.run("COMMIT");
  expect((await runCommand(["check", "--database", database])).exitCode).toBe(0);
});
