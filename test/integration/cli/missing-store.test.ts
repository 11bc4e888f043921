// A missing store: no command but serve, migrate and restore creates one, and the error names the
// path.

import { describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { commandError } from "../../support/commands.ts";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { type CommandResult, plantstore, runCommand, runIn, TemporaryFolder } from "../../support/server.ts";

/** Runs a command in a directory, with the default --database. */
function inFolder(folder: string, ...args: string[]): Promise<CommandResult> {
  return runIn(folder, [plantstore, ...args]);
}

/** In processes of their own: serve handles signals, and the others name no store. */
const spawned: readonly (readonly string[])[] = [
  ["token", "list"],
  ["serve", "--migrate", "off"],
];

const commands: readonly (readonly string[])[] = [
  ["token", "create", "--name", "ci"],
  ["token", "rotate", "ci"],
  ["token", "list"],
  ["token", "revoke", "ci"],
  ["import", "plants.ndjson"],
  ["export"],
  ["get", "1"],
  ["stats"],
  ["check"],
  ["index", "list"],
  ["index", "create"],
  ["index", "drop"],
];

test.each([
  ...commands.map((args) => [args.join(" "), args, false] as const),
  ...spawned.map((args) => [`${args.join(" ")} in a folder`, args, true] as const),
])("%s creates no store, and its error names the file", async (_, args, isSpawned) => {
  using folder = new TemporaryFolder();
  const source = folder.file("plants.ndjson");
  writeFileSync(source, plantJson(1n, "Monstera"));
  const path = folder.file("plantstore.db");
  const { exitCode, stdout, stderr } = isSpawned
    ? await inFolder(folder.path, ...args)
    : {
        stdout: "",
        ...(await commandError([
          ...args.map((arg) => (arg === "plants.ndjson" ? source : arg)),
          ...["--database", `sqlite:${path}`],
        ])),
      };
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
  expect(stderr).toStartWith(
    `plantstore: there is no store at ${path}; name yours with --database, or create one there with "plantstore migrate"`,
  );
  expect(readdirSync(folder.path)).toEqual(["plants.ndjson"]);
});

describe.each(engines.map((engine) => [engine.name, engine] as const))("%s", (_, engine) => {
  test("migrate prints whether it created the store, and its path", async () => {
    await using place = await engine.createTestStore();
    const migrate = () => runCommand(["migrate", "--database", place.database]);
    const where = place.database.replace(/^[a-z]+:(?:\/\/[^@]*@)?/, "").replace(/\?.*$/, "");
    expect(await migrate()).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: `Created an empty store: ${where}\n`,
    });
    expect(await migrate()).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: `The store ${where} exists, and its schema is up to date.\n`,
    });
  });

  test("without a store no token is issued, and nothing is imported", async () => {
    await using place = await engine.createTestStore();
    using folder = new TemporaryFolder();
    writeFileSync(folder.file("plants.ndjson"), plantJson(1n, "Monstera"));
    for (const args of [
      ["token", "create", "--name", "ci"],
      ["import", folder.file("plants.ndjson")],
    ]) {
      const { exitCode, stderr } = await commandError([...args, "--database", place.database]);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^plantstore: there is no (?:plant store|store) [^\n]+\n$/);
    }
    const check = await commandError(["check", "--database", place.database]);
    expect(check.stderr).toMatch(/^plantstore: there is no (?:plant store|store) [^\n]+\n$/);
  });
});
