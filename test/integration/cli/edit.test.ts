// plantstore update, delete and history, on every engine.

import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { jsonLines } from "../../support/output.ts";
import { runCommand } from "../../support/server.ts";
import { exported, storeLines } from "../../support/stored-plants.ts";

for (const engine of engines) {
  test(`${engine.name}: each update and deletion is printed, and history lists and undoes it`, async () => {
    await using place = await engine.createTestStore();
    const { database } = place;
    await storeLines(database, [
      '{"id":-7,"name":"Ficus","tag":"tree"}',
      '{"id":9007199254740993,"name":"Monstera\\n"}',
      '{"id":9007199254740992,"name":"Hoya"}',
    ]);
    const before = await exported(database);
    const command = (...args: string[]) =>
      runCommand([...args, "--database", database], {
        USER: "root",
        SUDO_USER: "ada",
      });

    const renamed = await command("update", "-7", "--name", "Ficus \u{1f331}\n\u202e'; --", "--tag", "");
    expect(renamed).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: expect.stringMatching(
        /^plant -7: name "Ficus" → "Ficus \u{1f331}\\n\\u202e'; --", tag "tree" → ""\n"plantstore history --undo \w+ --database [^"]+" undoes this\.\n$/u,
      ),
    });
    expect(await exported(database)).toStartWith(
      `{"id":-7,"name":"Ficus \u{1f331}\\n\u202e'; --","tag":""}\n`,
    );
    expect((await command("update", "-7", "--remove-tag", "--name", "Ficus")).exitCode).toBe(0);
    // An update that changes nothing is not an edit.
    expect(await command("update", "-7", "--name", "Ficus")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    const deleted = await command("delete", "9007199254740993", "5", "9007199254740992");
    expect(deleted).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^plant 9007199254740993: deleted {"name":"Monstera\\n"}\nplant 9007199254740992: deleted {"name":"Hoya"}\n"plantstore history --undo \w+ --database [^"]+" undoes this\.\nplantstore: there is no plant with the id 5 in this store\n$/,
      ),
    });
    expect(await exported(database)).toBe('{"id":-7,"name":"Ficus"}\n');
    for (const [args, exitCode, message] of [
      [["update", "-7"], 2, "give"],
      [["update", "-7", "--tag", "a", "--remove-tag"], 2, "--remove-tag"],
      [["update", "-7", "--tag", "x".repeat(100), "--body-bytes-max", "120"], 2, "larger than the 120 bytes"],
      [["update", "8", "--name", "x"], 1, "there is no plant with the id 8 in this store\n"],
      [["delete", "9223372036854775808"], 2, "is not a 64-bit integer"],
      [["get", "1.5"], 2, 'the id "1.5" is not a 64-bit integer'],
      [["get", "postgres://u:xq7zj@h/d"], 2, 'the id "postgres://u:***@h/d" is not a 64-bit integer'],
    ] as const)
      expect(await command(...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(message) });

    const { stdout } = await command("history", "--json");
    expect((await command("history", "--json", "--since", "1h")).stdout).toBe(stdout);
    expect((await command("history", "--json", "--since", "2020-01-01")).stdout).toBe(stdout);
    expect((await command("history", "--json", "--since", "2999-01-01T00:00Z")).stdout).toBe("");
    const entries = jsonLines(stdout);
    const editor = { by: "command", uid: process.getuid?.(), user: "root", sudoUser: "ada" };
    expect(entries).toEqual([
      expect.objectContaining({ before: expect.objectContaining({ name: "Hoya" }), after: null, editor }),
      expect.objectContaining({
        before: expect.objectContaining({ name: "Monstera\n" }),
        after: null,
        editor,
      }),
      expect.objectContaining({ id: -7, after: { id: -7, name: "Ficus" }, editor }),
      expect.objectContaining({ id: -7, before: { id: -7, name: "Ficus", tag: "tree" }, editor }),
    ]);
    expect(stdout).toContain('"id":9007199254740993,"before":{"id":9007199254740993,"name":"Monstera\\n"}');
    const [deletion, , , update] = entries.map(({ run }) => run);
    const table = (await command("history")).stdout.split("\n");
    expect(table[0]).toMatch(/^WHEN +RUN +PLANT +WHO +WHAT$/);
    expect(table[1]).toMatch(
      new RegExp(`${deletion}  9007199254740992 .*, sudo by ada +deleted {"name":"Hoya"}$`),
    );
    expect(table[4]).toMatch(new RegExp(`${update}  -7 .* name "Ficus" → .*, tag "tree" → ""$`));
    expect((await command("history", "-7")).stdout.trimEnd().split("\n")).toHaveLength(3);

    expect(await command("history", "9007199254740993", "--undo", deletion)).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: expect.stringMatching(/^1 undone, 0 already as before, 0 changed since .*\n$/),
    });
    const left = await command("history", "--undo", update);
    expect([left.exitCode, left.stderr]).toEqual([3, expect.stringContaining("Left: -7.")]);
    for (const { run } of entries) await command("history", "--undo", run);
    expect(await exported(database)).toBe(before);
    expect(await command("history", "7", "--undo", update)).toMatchObject({
      exitCode: 1,
      stderr: `plantstore: the history has no run ${update} with the plant 7, or was told to forget it; "plantstore history" lists the runs\n`,
    });
  });
}
