// plantstore update, delete, and export --with-creation, on every engine.

import { expect, test } from "bun:test";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { commandError } from "../../support/commands.ts";
import { engines } from "../../support/engines.ts";
import { programPath } from "../../support/programs.ts";
import { createStore, runCommand, withStore } from "../../support/server.ts";
import { csvLine, editOne, exported, storeLines } from "../../support/stored-plants.ts";

/** The lines that a command has logged, without their time. */
function audited(stderr: string) {
  return stderr
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { time, ...rest } = JSON.parse(line);
      expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(600_000);
      return rest;
    });
}

const user = Bun.spawnSync([programPath("id"), "-un"])
  .stdout.toString()
  .trim();

for (const engine of engines) {
  test(`${engine.name}: plants are updated and deleted, and each edit is logged with its user`, async () => {
    await using place = await engine.createTestStore();
    const { database } = place;
    await storeLines(database, [
      '{"id":-7,"name":"Ficus","tag":"tree"}',
      '{"id":9007199254740993,"name":"Monstera"}',
      '{"id":9007199254740992,"name":"Hoya"}',
    ]);
    const command = (...args: string[]) =>
      runCommand([...args, "--database", database], {
        USER: "mallory",
        LOGNAME: "mallory",
        SUDO_USER: "ada",
      });
    const renamed = await command("update", "-7", "--name", "Ficus \u{1f331}\n'; --", "--tag", "");
    expect(renamed).toMatchObject({ exitCode: 0, stdout: "" });
    const audit = { level: "info", by: "command", user: user, sudoUser: "ada" };
    expect(audited(renamed.stderr)).toEqual([{ ...audit, msg: "plant updated", id: "-7" }]);
    expect((await command("update", "9007199254740993", "--tag", "tropical")).exitCode).toBe(0);
    expect(await exported(database)).toBe(
      `{"id":-7,"name":"Ficus \u{1f331}\\n'; --","tag":""}
{"id":9007199254740992,"name":"Hoya"}
{"id":9007199254740993,"name":"Monstera","tag":"tropical"}
`,
    );
    expect((await command("update", "-7", "--remove-tag", "--name", "Ficus")).exitCode).toBe(0);
    const deleted = await command("delete", "9007199254740993", "5", "9007199254740992");
    expect(deleted.exitCode).toBe(1);
    const lines = deleted.stderr.split("\n");
    expect(lines).toContain("plantstore: there is no plant with the id 5 in this store");
    expect(lines).toContain("plantstore: 1 of 3 plants were not deleted; the lines above say why");
    expect(audited(lines.filter((line) => line.startsWith("{")).join("\n"))).toEqual([
      { ...audit, msg: "plant deleted", id: "9007199254740993" },
      { ...audit, msg: "plant deleted", id: "9007199254740992" },
    ]);
    expect(await exported(database)).toBe('{"id":-7,"name":"Ficus"}\n');
    const without = await runCommand(["update", "-7", "--name", "Ficus 2", "--database", database]);
    expect(audited(without.stderr)).toEqual([
      { level: "info", by: "command", user, msg: "plant updated", id: "-7" },
    ]);
    await command("update", "-7", "--name", "Ficus");
    // What is as it was is not logged.
    expect(await command("update", "-7", "--name", "Ficus")).toEqual({ exitCode: 0, stdout: "", stderr: "" });

    const error = (...args: string[]) => commandError([...args, "--database", database]);
    expect(await error("update", "-7")).toMatchObject({ exitCode: 2 });
    expect(await error("update", "-7", "--tag", "a", "--remove-tag")).toMatchObject({ exitCode: 2 });
    expect(await error("update", "8", "--name", "x")).toEqual({
      exitCode: 1,
      stderr: "plantstore: there is no plant with the id 8 in this store\n",
    });
    expect(await error("delete", "9223372036854775808")).toMatchObject({ exitCode: 2 });
  });

  test(`${engine.name}: an edit is made only to the plant that was expected, and later creates are compared with it`, async () => {
    await using place = await engine.createTestStore();
    await withStore(place.database, "create", async (store) => {
      const id = 2n ** 62n;
      const outcomesOf = (...plants: { name: string; tag?: string }[]) =>
        store.create(toEntries(plants.map((plant) => ({ id, ...plant }))));
      const [one, other] = [{ name: "one", tag: "" }, { name: "other" }];
      expect(await editOne(store, { id, expected: one, replacement: other })).toBe("missing");
      expect(await outcomesOf(one)).toEqual(["created"]);
      for (const expected of [{ name: "one" }, { name: "One", tag: "" }, other])
        expect(await editOne(store, { id, expected, replacement: undefined })).toBe("changed");
      expect(await editOne(store, { id, expected: one, replacement: other })).toBe("done");
      expect(await outcomesOf(one, other)).toEqual(["conflict", "unchanged"]);
      expect(await editOne(store, { id, expected: one, replacement: undefined })).toBe("changed");
      expect(await editOne(store, { id, expected: other, replacement: undefined })).toBe("done");
      expect(await outcomesOf(one, other)).toEqual(["created", "conflict"]);
    });
  });

  test(`${engine.name}: edits beside creates of the same ids lose nothing that was acknowledged`, async () => {
    await using place = await engine.createTestStore();
    await withStore(place.database, "create", async (store) => {
      const ids = Array.from({ length: 8 }, (_, index) => BigInt(index));
      const first = (id: bigint) => ({ id, name: "0" });
      await store.create(toEntries(ids.map(first)));
      // Each plant counts up in its name, by two editors at a time, while creates of the first and
      // of a new plant arrive.
      const done = new Map(ids.map((id) => [id, 0]));
      const editing = ids.flatMap((id) =>
        [1, 2].map(async () => {
          for (let round = 0; round < 10; round++) {
            const stored = await store.get(id);
            if (stored === undefined) throw new Error(`the plant ${id} is gone`);
            const replacement = { name: String(Number(stored.name) + 1) };
            if ((await editOne(store, { id, expected: stored, replacement })) === "done")
              done.set(id, (done.get(id) ?? 0) + 1);
          }
        }),
      );
      const creating = Array.from({ length: 20 }, (_, round) =>
        store.create(toEntries([...ids.map(first), { id: BigInt(1_000 + round), name: "new" }])),
      );
      await Promise.all(editing);
      for (const outcomes of await Promise.all(creating)) {
        expect(outcomes.at(-1)).toBe("created");
        for (const outcome of outcomes.slice(0, -1)) expect(outcome).toBeOneOf(["unchanged", "conflict"]);
      }
      for (const id of ids) expect(await store.get(id)).toEqual({ id, name: String(done.get(id)) });
    });
  });

  test(`${engine.name}: an export has creations on request, and an import ignores them`, async () => {
    await using place = await engine.createTestStore();
    const { database } = place;
    await withStore(database, "create", async (store) => {
      const creator = await store.tokens.creatorKey('a "b",\tc');
      await store.create(toEntries([{ id: 1n, name: "tab\tand\\slash", tag: "b" }], creator));
      await store.create(toEntries([{ id: 2n, name: "import" }]));
    });
    const { stdout } = await runCommand(["export", "--with-creation", "--database", database]);
    const plants = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(plants).toEqual([
      { id: 1, name: "tab\tand\\slash", tag: "b", createdAt: expect.any(String), token: 'a "b",\tc' },
      { id: 2, name: "import", createdAt: expect.any(String), token: null },
    ]);
    const one = await runCommand(["get", "1", "--with-creation", "--database", database]);
    expect(one.stdout).toBe(`${stdout.split("\n")[0]}\n`);
    const asCsv = ["export", "--with-creation", "--format", "csv", "--tag", "b"];
    const csv = await runCommand([...asCsv, "--database", database]);
    const header = csvLine(["id", "name", "tag", "createdAt", "token"]);
    const line = csvLine(["1", "tab\tand\\slash", "b", plants[0].createdAt, '"a ""b"",\tc"']);
    expect(csv.stdout).toBe(`${header}\n${line}\n`);
    await using other = await engine.createTestStore();
    await createStore(other.database);
    for (const [format, text] of [
      ["ndjson", stdout],
      ["csv", csv.stdout],
    ] as const) {
      const importing = ["import", "-", "--format", format, "--quiet"];
      const imported = await runCommand([...importing, "--database", other.database], {}, text);
      expect(imported).toMatchObject({ exitCode: 0 });
    }
    expect(await exported(other.database)).toBe(await exported(database));
  });
}
