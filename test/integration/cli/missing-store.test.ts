// A missing store: no command but serve, migrate and restore creates one, and the error names the
// path.

import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { plantstore, runCommand, runIn, TemporaryFolder } from "../../support/server.ts";

const commands: readonly string[] = [
  "token create --name ci",
  "token rotate ci",
  "token list",
  "token revoke ci",
  "import plants.ndjson",
  "export",
  "get 1",
  "stats",
];

/** In a process and a folder of its own: serve handles signals, and the other has no --database. */
const spawned = ["serve --migrate off", "token list"];

test.each([
  ...commands.map((line) => [line, "in this process"] as const),
  ...spawned.map((line) => [line, "in the folder"] as const),
])("%s %s creates no store, and its error names the file", async (line, where) => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("plants.ndjson"), plantJson(1n, "Monstera"));
  const path = folder.file("plantstore.db");
  const args = line.replace("plants.ndjson", folder.file("plants.ndjson")).split(" ");
  const result =
    where === "in the folder"
      ? await runIn(folder.path, [plantstore, ...args])
      : await runCommand([...args, "--database", `sqlite:${path}`]);
  expect(result).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringMatching(
      new RegExp(
        `^plantstore: there is no store at ${path}; name yours with --database, or create one there with "plantstore migrate"[^\n]*\n$`,
      ),
    ),
  });
  expect(readdirSync(folder.path)).toEqual(["plants.ndjson"]);
});

test.each(engines.map((engine) => [engine.name, engine] as const))(
  "%s: migrate creates the store, and prints its path each time",
  async (_, engine) => {
    await using place = await engine.createTestStore();
    const migrate = () => runCommand(["migrate", "--database", place.database]);
    const where = place.database.replace(/^[a-z]+:(?:\/\/[^@]*@)?/, "").replace(/\?.*$/, "");
    const stderr = `The store ${where} is up to date. "plantstore serve" runs a server on it.\n`;
    for (let run = 0; run < 2; run++) expect(await migrate()).toEqual({ exitCode: 0, stdout: "", stderr });
  },
);
