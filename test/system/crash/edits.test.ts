// Clients that replace and change resources, and kill -9: every change that was acknowledged is
// there, whole, and the history has it.

import { expect, test } from "bun:test";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { RunningServer } from "../../support/server.ts";

const path = contractFile("members.yaml");
const source = { text: await Bun.file(path).text() };
const clients = 16;

test.each(engines)(
  "$name: after a kill -9 each acknowledged change is there",
  async (engine) => {
    await using place = await engine.createTestStore(source);
    const start = () => RunningServer.start({ ...place, args: ["--contract", path] });
    const server = await start();
    const token = await server.createToken("secretary");
    const ids = Array.from({ length: clients }, () => crypto.randomUUID());
    const acknowledged = new Map<string, number>();
    let changes = 0;
    let isKilled = false;
    const load = ids.map(async (id) => {
      for (let level = 0; !isKilled; level++) {
        const method = level % 2 === 0 ? "PUT" : "PATCH";
        const body = JSON.stringify({ name: `level ${level}`, level, address: { city: `city ${level}` } });
        const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
        const response = await fetch(`${server.url}/members/${id}`, { method, headers, body }).catch(
          () => undefined,
        );
        if (response?.ok !== true) continue;
        acknowledged.set(id, level);
        changes++;
      }
    });
    while (changes < 400) await Bun.sleep(10);
    const ended = server.stop("SIGKILL");
    isKilled = true;
    await Promise.all([ended, ...load]);

    await using again = await start();
    for (const id of ids) {
      const stored = JSON.parse((await again.command("get", id)).stdout);
      const { level } = stored;
      // The last change may be stored without a response.
      expect(level - (acknowledged.get(id) ?? 0)).toBeOneOf([0, 1]);
      expect(stored).toMatchObject({ name: `level ${level}`, address: { city: `city ${level}` } });
      const history = (await again.command("history", id, "--json")).stdout.trimEnd().split("\n");
      expect(history.length).toBe(level + 1);
    }
  },
  120_000,
);
