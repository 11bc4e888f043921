// Tokens that come and go while servers run.

import { describe, expect, test } from "bun:test";
import { engines } from "../harness/engines.ts";
import { freshId, plantJson, post } from "../harness/http.ts";
import { RunningServer } from "../harness/server.ts";

const noticedMsMax = 2_000;

for (const engine of engines) {
  describe(engine.name, () => {
    async function status(url: string, token: string): Promise<number> {
      return (await post({ url, token }, plantJson(freshId(), "Monstera"))).status;
    }

    test("a new token works at once, on every server of the store", async () => {
      await using place = await engine.newPlace();
      await using first = await RunningServer.start(place);
      await using second = await RunningServer.start(place);
      for (let round = 0; round < 3; round++) {
        const token = await first.createToken();
        expect(await status(first.url, token)).toBe(200);
        expect(await status(second.url, token)).toBe(200);
      }
    });

    test("a revoked token is refused within 2 seconds, on every server of the store", async () => {
      await using place = await engine.newPlace();
      await using first = await RunningServer.start(place);
      await using second = await RunningServer.start(place);
      const token = await first.createToken("short-lived");
      const kept = await first.createToken("kept");
      expect(await status(first.url, token)).toBe(200);
      expect(await status(second.url, token)).toBe(200);
      expect((await first.command("token", "revoke", "short-lived")).exitCode).toBe(0);
      await Bun.sleep(noticedMsMax);
      expect(await status(first.url, token)).toBe(401);
      expect(await status(second.url, token)).toBe(401);
      expect(await status(first.url, kept)).toBe(200);
    });

    test("an expired token is refused from its moment on", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start(place);
      const token = await server.createToken("brief", ["--expires", "4s"]);
      const issued = performance.now();
      expect(await status(server.url, token)).toBe(200);
      await Bun.sleep(4_050 - (performance.now() - issued));
      expect(await status(server.url, token)).toBe(401);
      expect((await server.command("token", "list")).stdout).toMatch(/^brief +expired /m);
    });

    test("tokens can be issued and revoked while the server commits without a pause", async () => {
      await using place = await engine.newPlace();
      await using server = await RunningServer.start(place);
      const target = { url: server.url, token: await server.createToken() };
      let busy = true;
      const load = Array.from({ length: 64 }, async () => {
        while (busy) await post(target, plantJson(freshId(), "Monstera"));
      });
      for (let round = 0; round < 3; round++) {
        const token = await server.createToken(`round ${round}`);
        expect(await status(server.url, token)).toBe(200);
        expect((await server.command("token", "revoke", `round ${round}`)).exitCode).toBe(0);
      }
      busy = false;
      await Promise.all(load);
    });
  });
}
