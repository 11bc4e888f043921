// While PostgreSQL cannot be reached: every command soon prints what it waits for, and a signal
// ends it.

import { expect, test } from "bun:test";
import { logLines, Output } from "../../support/output.ts";
import { reservePort } from "../../support/ports.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { HangingProxy } from "../../support/proxy.ts";
import { plantstore, runCommand } from "../../support/server.ts";

const patient = "retry_timeout=3600&connect_timeout=3600";

function start(args: readonly string[]) {
  const child = Bun.spawn([plantstore, ...args], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  return { child, stderr: new Output(child.stderr) };
}

const commands = [
  ["migrate"],
  ["token", "create", "--name", "ci"],
  ["token", "list"],
  ["get", "1"],
  ["stats"],
  ["export"],
  ["import", "--format", "ndjson", import.meta.path],
  ["index", "list"],
  ["check"],
];

test.concurrent.each(commands.map((command) => [command.slice(0, 2).join(" "), command] as const))(
  "%s prints what it waits for",
  async (_, command) => {
    const port = reservePort();
    // A busy machine prints it before that is over.
    const database = `postgres://user:secret@127.0.0.1:${port}/plants?retry_timeout=4`;
    const { stderr, exitCode } = await runCommand([...command, "--database", database]);
    expect(stderr).toMatch(
      new RegExp(
        `^waiting for PostgreSQL at 127.0.0.1:${port} \\([^\n]*ECONNREFUSED[^\n]*\\), up to 4 s\nplantstore: [^\n]+\n$`,
      ),
    );
    expect(stderr).not.toContain("secret");
    expect(exitCode).toBe(1);
  },
);

test.concurrent("a wait for a host that does not respond at all is printed too", async () => {
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

test.concurrent("a server that starts logs what it waits for, and stops on a signal", async () => {
  const port = reservePort();
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

test.concurrent("--quiet prints only the result of the wait", async () => {
  const database = `postgres://127.0.0.1:${reservePort()}/plants?retry_timeout=1`;
  const { stderr } = await runCommand(["export", "--quiet", "--database", database]);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
});
