// While PostgreSQL cannot be reached: every command soon prints what it waits for, and a signal
// ends it.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { logLines, Output } from "../../support/output.ts";
import { freePort, sharedPostgres } from "../../support/postgres.ts";
import { HangingProxy } from "../../support/proxy.ts";
import { plantstore, runCommand, TemporaryFolder } from "../../support/server.ts";

const patient = "retry_timeout=3600&connect_timeout=3600";

function start(args: readonly string[], cwd?: string) {
  const child = Bun.spawn([plantstore, ...args], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    ...(cwd === undefined ? {} : { cwd }),
  });
  return { child, stderr: new Output(child.stderr) };
}

const commands = [
  ["migrate"],
  ["token", "create", "--name", "ci"],
  ["token", "list"],
  ["get", "1"],
  ["stats"],
  ["export"],
  ["import", "plants.ndjson"],
  ["index", "list"],
  ["check"],
] as const;

// Each is silent for 0.8 seconds first.
describe.concurrent("a command that waits", () => {
  test.each(commands.map((command) => [command.join(" "), command] as const))(
    "%s: it prints the host, and SIGINT ends it",
    async (_, command) => {
      using folder = new TemporaryFolder();
      writeFileSync(folder.file("plants.ndjson"), '{"id":1,"name":"Monstera"}\n');
      const port = await freePort();
      const database = `postgres://user:secret@127.0.0.1:${port}/plants?${patient}`;
      const { child, stderr } = start([...command, "--database", database], folder.path);
      const line = await stderr.until((text) => /^.*\n/.exec(text)?.[0]);
      expect(line).toStartWith(`waiting for PostgreSQL at 127.0.0.1:${port} (`);
      expect(line).toEndWith("), up to 3600 s\n");
      expect(line).toContain("ECONNREFUSED");
      child.kill("SIGINT");
      await child.exited;
      expect(await stderr.ended).not.toContain("secret");
    },
  );
});

test("a wait for a host that does not respond at all is printed too", async () => {
  await using database = await sharedPostgres();
  using proxy = new HangingProxy(database.port);
  proxy.hang();
  const address = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?${patient}`;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const { child, stderr } = start(["get", "1", "--database", address]);
    await stderr.until((text) => text.includes("(no response yet), up to 3600 s\n") || undefined);
    child.kill(signal);
    await child.exited;
  }
});

test("a server that starts logs what it waits for, and stops on a signal", async () => {
  const port = await freePort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const database = `postgres://user:secret@127.0.0.1:${port}/plants?${patient}`;
    const flags = ["--port", "0", "--admin-port", "off", "--log-format", "json"];
    const { child, stderr } = start(["serve", ...flags, "--database", database]);
    const line = await stderr.until((text) => logLines(text)[0]);
    expect(line).toMatchObject({ level: "warn", msg: "waiting for the store, which does not respond" });
    expect(line.reason).toContain(`PostgreSQL at 127.0.0.1:${port} (`);
    child.kill(signal);
    expect(await child.exited).toBe(0);
    const rest = logLines(await stderr.ended).slice(1);
    expect(rest.map(({ msg }) => msg)).toEqual(["shutting down, draining requests", "stopped"]);
    expect(await stderr.ended).not.toContain("secret");
  }
});

test("--quiet prints only the result of the wait", async () => {
  const database = `postgres://127.0.0.1:${await freePort()}/plants?retry_timeout=1`;
  expect((await runCommand(["export", "--database", database])).stderr).toMatch(
    /^waiting for [^\n]+\nplantstore: [^\n]+\n$/,
  );
  expect((await runCommand(["export", "--quiet", "--database", database])).stderr).toMatch(
    /^plantstore: [^\n]+\n$/,
  );
});
