// plantstore history, and what update and delete leave in it.

import { expect, test } from "bun:test";
import { commandError } from "../../support/commands.ts";
import { engines } from "../../support/engines.ts";
import { runCommand } from "../../support/server.ts";
import { exported, storeLines } from "../../support/stored-plants.ts";

for (const engine of engines) {
  test(`${engine.name}: history prints edits with their users, and undoes a run or one plant of it`, async () => {
    await using place = await engine.createTestStore();
    const { database } = place;
    await storeLines(database, [
      '{"id":-7,"name":"Ficus","tag":"tree"}',
      '{"id":9007199254740993,"name":"Monstera\\n"}',
    ]);
    const before = await exported(database);
    const command = (...args: string[]) =>
      runCommand([...args, "--database", database], { SUDO_USER: "ada" });
    await command("update", "-7", "--remove-tag");
    // What is as it was is no edit.
    await command("update", "-7", "--remove-tag");
    await command("delete", "9007199254740993", "-7");

    const { stdout } = await command("history", "--json");
    const entries = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const editor = { by: "command", uid: process.getuid?.(), user: expect.any(String), sudoUser: "ada" };
    expect(entries).toEqual([
      expect.objectContaining({ id: -7, before: { id: -7, name: "Ficus" }, after: null, editor }),
      expect.objectContaining({ after: null, editor }),
      expect.objectContaining({ id: -7, before: { id: -7, name: "Ficus", tag: "tree" }, editor }),
    ]);
    expect(stdout).toContain('"id":9007199254740993,"before":{"id":9007199254740993,"name":"Monstera\\n"}');
    const [deletion, , update] = entries;
    const table = (await command("history", "-7", "--since", "1h")).stdout.split("\n");
    expect(table[0]).toMatch(/^WHEN +RUN +PLANT +WHO +WHAT$/);
    expect(table[1]).toMatch(new RegExp(`${deletion.run}  -7 .*, sudo by ada +deleted {"name":"Ficus"}$`));
    expect(table[2]).toMatch(new RegExp(`${update.run} .* tag "tree" → none$`));
    expect((await command("history", "--since", "0s", "--json")).stdout).toBe("");

    expect(await command("history", "9007199254740993", "--undo", deletion.run)).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: expect.stringMatching(/^1 undone, 0 already as before, 0 changed since .*\n$/),
    });
    const left = await command("history", "--undo", update.run);
    expect([left.exitCode, left.stderr]).toEqual([3, expect.stringContaining("Left: -7.")]);
    await command("history", "--undo", deletion.run);
    await command("history", "--undo", update.run);
    expect(await exported(database)).toBe(before);

    expect(await commandError(["history", "7", "--undo", update.run, "--database", database])).toEqual({
      exitCode: 1,
      stderr: `plantstore: the history has no run ${update.run} with the plant 7; "plantstore history" lists the runs\n`,
    });
  });
}
