// kill -9 under load, many times: afterwards every acknowledged plant is stored exactly, and no plant is stored that was never
// sent.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { Load } from "../../support/load.ts";
import { RunningServer } from "../../support/server.ts";

/** Few, to keep the test short; `npm run faults` kills 200 times. */
const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 30);
const connections = 32;

for (const engine of engines) {
  describe(engine.name, () => {
    test(
      `no acknowledged plant is lost in ${kills} kills`,
      async () => {
        await using place = await engine.newPlace();
        const load = new Load();
        let token: string | undefined;
        for (let kill = 0; kill < kills; kill++) {
          await using server = await RunningServer.start({ database: place.database });
          token ??= await server.createToken();
          const running = load.untilGone([{ url: server.url, token }], connections);
          await Bun.sleep(20 + Math.random() * 150);
          await server.stop("SIGKILL");
          await running;
        }

        // Before anything else opens the store, as it was left by the last kill.
        if (place.database.startsWith("sqlite:"))
          expect(integrityOf(place.database.slice("sqlite:".length))).toBe("ok");
        await using server = await RunningServer.start({ database: place.database });
        expect(load.audit((await server.command("export")).stdout)).toEqual([]);
        expect(load.acknowledged.size).toBeGreaterThan(kills * 10);
        process.stdout.write(
          `${engine.name}: ${kills} kills, ${load.acknowledged.size} plants acknowledged, none lost\n`,
        );
      },
      60_000 + kills * 10_000,
    );
  });
}

function integrityOf(path: string): unknown {
  const database = new Database(path);
  const result = database.query("PRAGMA integrity_check").values()[0]?.[0];
  database.close();
  return result;
}
