// While PostgreSQL cannot be reached: every command soon prints what it waits for, and a signal
// ends it.

import { expect, test } from "bun:test";
import { logLines, Output } from "../../support/output.ts";
import { reservePort } from "../../support/ports.ts";
import { plantstore, runCommand } from "../../support/server.ts";

const patient = "retry_timeout=3600&connect_timeout=3600";

function start(args: readonly string[]) {
  const child = Bun.spawn([plantstore, ...args], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  return { child, stderr: new Output(child.stderr) };
}

const commands = [
  ["migrate"],
  ["token", "create", "--name", "ci"],
  ["token", "list"],
  ["get", "1"],
  ["export"],
  ["import", "--format", "ndjson", import.meta.path],
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

test.concurrent.each([
  ["SIGINT", ["get", "1"]],
  ["SIGTERM", ["export"]],
  ["SIGINT", ["token", "create", "--name", "ci"]],
  ["SIGINT", ["import", "-"]],
] as const)(
  "a wait for a host that does not respond at all is printed too, and ended by %s: %p",
  async (signal, command) => {
    using host = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const database = `postgres://127.0.0.1:${host.port}/plants?${patient}`;
    const { child, stderr } = start([...command, "--database", database]);
    const wait = `waiting for PostgreSQL at 127.0.0.1:${host.port} (no response yet), up to 3600 s\n`;
    await stderr.until((text) => text === wait || undefined);
    child.kill(signal);
    await child.exited;
    const isImport = command[0] === "import";
    expect([child.exitCode, child.signalCode]).toEqual(isImport ? [1, null] : [null, signal]);
    expect((await stderr.ended).slice(wait.length)).toBe(
      isImport
        ? "plantstore: interrupted; 0 created, 0 already stored, 0 rejected so far; run the same command again to continue\n"
        : "",
    );
    expect(await child.stdout.text()).toBe("");
  },
);

test.concurrent("a server that starts logs what it waits for, and stops on a signal", async () => {
  const port = reservePort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const database = `postgres://user:secret@127.0.0.1:${port}/plants?${patient}`;
    const flags = ["--port", "0", "--admin-port", "off", "--log-format", "json"];
    const { child, stderr } = start(["serve", ...flags, "--database", database]);
    const line = await stderr.until((text) => logLines(text)[0]);
    expect(line).toMatchObject({ level: "warn", msg: "waiting for the store" });
    expect(line.reason).toContain(`PostgreSQL at 127.0.0.1:${port} (`);
    child.kill(signal);
    expect(await child.exited).toBe(0);
    const rest = logLines(await stderr.ended).slice(1);
    expect(rest.map(({ msg }) => msg)).toEqual(["shutting down, draining requests", "stopped"]);
    expect(await stderr.ended).not.toContain("secret");
  }
});
