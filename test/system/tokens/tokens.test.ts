// Tokens that are issued, revoked and used while servers run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listedTokens } from "../../support/commands.ts";
import { engines } from "../../support/engines.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { logLines } from "../../support/output.ts";
import { RunningServer, withStore } from "../../support/server.ts";

const noticedMsMax = 2_000;

/** The last use of each token of a store, by name. */
async function lastUses(database: string): Promise<Record<string, string | null>> {
  const tokens = await listedTokens(database);
  return Object.fromEntries(tokens.map(({ name, lastUsed }) => [name, lastUsed]));
}

async function status(url: string, token: string): Promise<number> {
  return (await post({ url, token }, plantJson(freshId(), "Monstera"))).status;
}

for (const engine of engines) {
  // Concurrent, because some wait for seconds to pass.
  describe.concurrent(`${engine.name}: two servers of a store`, () => {
    const stack = new AsyncDisposableStack();
    let first: RunningServer;
    let second: RunningServer;
    beforeAll(async () => {
      const place = stack.use(await engine.createTestStore());
      first = stack.use(await RunningServer.startInProcess(place));
      second = stack.use(await RunningServer.startInProcess(place));
    });
    afterAll(() => stack.disposeAsync());

    test("a new token is accepted immediately, on every server", async () => {
      for (let round = 0; round < 3; round++) {
        const token = await first.createToken();
        expect(await status(first.url, token)).toBe(200);
        expect(await status(second.url, token)).toBe(200);
      }
    });

    test("a revoked token is rejected within 2 seconds, on every server", async () => {
      const token = await first.createToken("revoked");
      const kept = await first.createToken("kept");
      expect(await status(first.url, token)).toBe(200);
      expect(await status(second.url, token)).toBe(200);
      expect((await first.command("token", "revoke", "revoked")).exitCode).toBe(0);
      await Bun.sleep(noticedMsMax);
      expect(await status(first.url, token)).toBe(401);
      expect(await status(second.url, token)).toBe(401);
      expect(await status(first.url, kept)).toBe(200);
    });

    test("a token is rejected from its expiry on", async () => {
      const token = await first.createToken("brief", 4_000);
      const issued = performance.now();
      expect(await status(first.url, token)).toBe(200);
      await Bun.sleep(4_050 - (performance.now() - issued));
      expect(await status(first.url, token)).toBe(401);
      expect((await first.command("token", "list")).stdout).toMatch(/^brief +expired /m);
    });
  });

  describe(engine.name, () => {
    test("the last use is stored to the minute when a server stops, the latest of several servers", async () => {
      await using place = await engine.createTestStore();
      const first = await RunningServer.startInProcess(place);
      const second = await RunningServer.startInProcess(place);
      const [used, revoked] = [await first.createToken("used"), await first.createToken("revoked")];
      await first.createToken("unused");
      const begun = Date.now();
      expect(await status(first.url, used)).toBe(200);
      expect(await status(first.url, revoked)).toBe(200);
      await first.command("token", "revoke", "revoked");
      const { exitCode, stderr } = await first.stop();
      expect(exitCode).toBe(0);
      expect(logLines(stderr).filter(({ level }) => level !== "info")).toEqual([]);
      const usedByFirst = await lastUses(place.database);
      expect(await status(second.url, used)).toBe(200);
      expect((await second.stop()).exitCode).toBe(0);
      const ended = Date.now();

      const usedBySecond = await lastUses(place.database);
      expect(usedBySecond).toMatchObject({ first: null, unused: null, revoked: usedByFirst.revoked ?? "" });
      const [earlier, later] = [usedByFirst.used ?? "", usedBySecond.used ?? ""];
      for (const lastUsed of [earlier, later]) {
        expect(lastUsed).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
        expect(Date.parse(lastUsed)).toBeGreaterThan(begun - 60_000);
        expect(Date.parse(lastUsed)).toBeLessThanOrEqual(ended);
      }
      expect(later >= earlier).toBe(true);
      const table = (await second.command("token", "list")).stdout;
      expect(table).toMatch(new RegExp(`^used +active .* ${later}$`, "m"));
      expect(table).toMatch(/^unused +active .* never used$/m);
    });

    test("tokens can be issued and revoked under continuous load", async () => {
      await using place = await engine.createTestStore();
      await using server = await RunningServer.startInProcess(place);
      const target = { url: server.url, token: await server.createToken() };
      let busy = true;
      const load = Array.from({ length: 64 }, async () => {
        while (busy) await post(target, plantJson(freshId(), "Monstera"));
      });
      for (let round = 0; round < 3; round++) {
        const name = `round ${round}`;
        const token = await server.createToken(name);
        expect(await status(server.url, token)).toBe(200);
        const wasRevoked = await withStore(server.database, "writable", ({ tokens }) =>
          tokens.revoke(name, Date.now()),
        );
        expect(wasRevoked).toBe(true);
      }
      busy = false;
      await Promise.all(load);
    });
  });
}
