// Thirty sandboxes, ten at a time: started, used and ended in every way, and what they leave.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post, type Target } from "../../support/http.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";

interface Started extends Target {
  readonly controlUrl: string;
  /** Ends it; resolves when its process has ended. */
  readonly end: () => Promise<unknown>;
}

type Start = (folder: TemporaryFolder, name: string) => Promise<Started>;

const env = (folder: TemporaryFolder) => ({ PATH: process.env.PATH ?? "", TMPDIR: folder.path });

function startAndEnd(end: (sandbox: RunningSandbox) => Promise<unknown>, ...args: readonly string[]): Start {
  return async (folder) => {
    const sandbox = await RunningSandbox.start({ args, cwd: folder.path, env: env(folder) });
    const { url, token, controlUrl } = sandbox;
    return { url, token, controlUrl, end: () => end(sandbox) };
  };
}

/** A sandbox of another program, which is killed. */
const startByParent: Start = async (folder, name) => {
  const ready = folder.file(name);
  const flags = ["--port", "0", "--admin-port", "0", "--exit-with-parent", "--ready-file", ready];
  const start = `Bun.spawn(${JSON.stringify([plantstore, "sandbox", ...flags])}, { stdin: "pipe", stdout: "ignore", stderr: "ignore" })`;
  const parent = Bun.spawn([process.execPath, "-e", start], {
    cwd: folder.path,
    env: env(folder),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await eventually("the ready file", () => existsSync(ready));
  const { url, token, controlUrl } = JSON.parse(readFileSync(ready, "utf8"));
  async function end() {
    parent.kill("SIGKILL");
    await parent.exited;
    await eventually("the ready file is removed", () => !existsSync(ready));
  }
  return { url, token, controlUrl, end };
};

const starts: readonly Start[] = [
  startAndEnd((sandbox) => sandbox.stop("SIGTERM")),
  startAndEnd((sandbox) => sandbox.stop("SIGKILL")),
  startAndEnd((sandbox) => sandbox.endInput().then(() => sandbox.ended()), "--exit-with-parent"),
  startByParent,
  startAndEnd((sandbox) => sandbox.stop("SIGINT")),
];

/** The processes whose current folder this is. */
function processesIn(folder: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`) === folder;
    } catch {
      // It has ended, or is another user's.
      return false;
    }
  });
}

test.skipIf(!existsSync("/proc/self/cwd"))(
  `thirty sandboxes leave no file, no process and no port${existsSync("/proc/self/cwd") ? "" : " (skipped: needs /proc)"}`,
  async () => {
    using folder = new TemporaryFolder();
    for (let round = 0; round < 3; round++) {
      const started = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          starts[index % starts.length]?.(folder, `${round}-${index}.json`),
        ),
      );
      const sandboxes = started.filter((each) => each !== undefined);
      expect(sandboxes).toHaveLength(10);
      expect(processesIn(folder.path).length).toBeGreaterThanOrEqual(10);
      await Promise.all(
        sandboxes.map(async (sandbox, index) => {
          expect((await post(sandbox, plantJson(BigInt(index), "Monstera"))).status).toBe(200);
          await fetch(`${sandbox.controlUrl}/snapshots/one`, { method: "PUT" });
          const plants = await fetch(`${sandbox.controlUrl}/plants`).then((response) => response.json());
          // None has the plants of another one.
          expect(plants).toEqual({ plants: [{ id: index, name: "Monstera" }], next: null });
        }),
      );
      await Promise.all(sandboxes.map(({ end }) => end()));
      await eventually(
        "all processes have ended",
        () => processesIn(folder.path),
        (processes) => processes.length === 0,
      );
      for (const { url, controlUrl } of sandboxes)
        for (const address of [url, controlUrl])
          expect(await fetch(address).catch(({ code }) => code)).toMatch(/REFUSED/i);
      expect(readdirSync(folder.path)).toEqual([]);
    }
  },
  120_000,
);
