// plantstore check: ready means that the store accepts writes.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { createStore, runCommand, TemporaryFolder } from "../../support/server.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("a store is ready, without a server and with one; a URL without a store is not", async () => {
      await using place = await engine.createTestStore();
      const check = () => runCommand(["check", "--database", place.database]);
      const { exitCode, stdout, stderr } = await check();
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
      expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
      await createStore(place.database);
      const ready = { exitCode: 0, stdout: "ready\n", stderr: "" };
      expect(await check()).toEqual(ready);
      expect(await check()).toEqual(ready);
    });
  });
}

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
