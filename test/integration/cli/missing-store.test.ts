// A missing store: no command but serve, migrate and restore creates one, and the error names the
// path.

import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { databaseFlag } from "../../../src/process/command-name.ts";
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
  "%s: migrate creates the store and says so, and prints its path each time",
  async (_, engine) => {
    await using place = await engine.createTestStore();
    const migrate = () => runCommand(["migrate", "--database", place.database]);
    const where = place.database.replace(/^[a-z]+:(?:\/\/[^@]*@)?/, "").replace(/\?.*$/, "");
    const url = /[?&]/.test(place.database) ? `'${place.database}'` : place.database;
    for (const what of ["was created", "is up to date"])
      expect(await migrate()).toEqual({
        exitCode: 0,
        stdout: "",
        stderr: `The store ${where} ${what}. "plantstore serve --database ${url}" runs a server on it.\n`,
      });
  },
);

test("migrate with a contract that cannot be read leaves no file behind", async () => {
  using folder = new TemporaryFolder();
  for (const text of ["openapi: 3.1.0", "no: [YAML"]) {
    writeFileSync(folder.file("wrong.yaml"), text);
    const { exitCode } = await runCommand([
      ...["migrate", "--contract", folder.file("wrong.yaml")],
      ...["--database", `sqlite:${folder.file("plants.db")}`],
    ]);
    expect(exitCode).toBe(2);
  }
  expect(readdirSync(folder.path)).toEqual(["wrong.yaml"]);
});

test("a command that is printed to be run next has the --database that was given, and no password", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("my plants.db")}`;
  expect((await runCommand(["migrate", "--database", database])).stderr).toContain(
    `"plantstore serve --database '${database}'"`,
  );
  const variable = { PLANTSTORE_DATABASE: database };
  const { stderr } = await runCommand(["migrate"], variable);
  expect(stderr).toContain('"plantstore serve" runs');
  const given = { database: "postgres://me:secret@db/plants", sources: { database: "flag" } };
  expect(databaseFlag(given)).toBe(" --database 'postgres://me:***@db/plants'");
});
