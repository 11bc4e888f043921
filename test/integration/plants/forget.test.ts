// plantstore history --forget: what it erases is gone from the history and from the file of a store that
// a server uses, on every engine.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";

/** Whether a file of the store has a text. */
function isInFiles(database: string, text: string): boolean {
  const path = database.replace("sqlite:", "");
  return [path, `${path}-wal`].some((each) => existsSync(each) && readFileSync(each).includes(text));
}

for (const engine of engines) {
  test(`${engine.name}: a person is erased from the history while creates go on`, async () => {
    await using place = await engine.createTestStore();
    const { database } = place;
    await using server = await RunningServer.startInProcess({ database });
    const target = { url: server.url, token: await server.createToken() };
    const create = async (id: number, name: string) =>
      expect((await post(target, plantJson(BigInt(id), name))).status).toBe(200);
    const long = (text: string) => `${text} ${"x".repeat(20_000)}`;
    const command = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await server.command(...args);
      return { exitCode, text: stdout + stderr };
    };

    for (let id = 0; id < 30; id++) await create(id, `Rosa ${id}`);
    await create(100, "Ada first");
    await create(200, "Bob first");
    for (const name of ["Ada second", long("Ada third"), "Ada fourth"])
      await command("update", "100", "--name", name);
    const { text: changed } = await command("update", "200", "--name", "Bob second");
    const { text: deleted } = await command("delete", "100");
    const runOf = (text: string) => /--undo (\w+)/.exec(text)?.[1] ?? "";

    expect(await command("history", "100", "--forget")).toEqual({
      exitCode: 2,
      text: expect.stringContaining(
        "4 edits of 4 runs would be forgotten for good, and could not be undone; add --yes",
      ),
    });
    for (const wrong of [
      ["--forget"],
      ["--forget", "100", "--undo", "x"],
      ["--before", "2020-01-01"],
      ["100", "200"],
      ["100", "--yes"],
    ])
      expect((await command("history", ...wrong)).exitCode).toBe(2);
    expect((await command("history", "100")).text.trim().split("\n")).toHaveLength(5);

    let isForgotten = false;
    const creating = (async () => {
      for (let id = 1_000; !isForgotten; id++) await create(id, "Hoya");
    })();
    const forgotten = await command("history", "100", "101", "--forget", "--yes").finally(() => {
      isForgotten = true;
    });
    await creating;
    expect(forgotten).toEqual({
      exitCode: 0,
      text: "4 edits of 4 runs forgotten; backups, and exports, still have what they hold\n",
    });
    if (engine.name === "sqlite")
      for (const name of ["Ada first", "Ada second", "Ada third", "Ada fourth"])
        expect([name, isInFiles(database, name)]).toEqual([name, false]);

    expect((await command("history", "100", "--json")).text).toBe("");
    expect(await command("history", "--undo", runOf(deleted))).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining("or was told to forget it"),
    });
    expect((await command("history", "200", "--json")).text).toContain("Bob first");

    // By time: nothing is older.
    expect((await command("history", "--forget", "--before", "1d", "--yes")).text).toContain(
      "0 edits of 0 runs",
    );
    expect((await command("history", "--undo", runOf(changed))).exitCode).toBe(0);
    // A time to come: the undo may have been in this millisecond.
    const soon = new Date(Date.now() + 60_000).toISOString();
    expect((await command("history", "--forget", "--before", soon, "--yes")).text).toContain(
      "2 edits of 2 runs",
    );
    expect((await command("history", "--json")).text).toBe("");
    if (engine.name === "sqlite") expect(isInFiles(database, "Bob second")).toBe(false);
    expect((await command("get", "200")).text).toContain("Bob first");
  });
}
