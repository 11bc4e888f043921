// kill -9 under load, many times: afterwards every acknowledged plant is stored exactly, and no
// plant is stored that was never sent.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { Load } from "../../support/load.ts";
import { Random } from "../../support/random.ts";
import { RunningServer } from "../../support/server.ts";
import { integrityOf } from "../../support/stored-plants.ts";

/** `npm run faults` kills 200 times. */
const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 5);
/** The moments of the kills; a run prints it. */
const seed = Number(process.env.PLANTSTORE_TEST_SEED ?? Date.now() % 1e9);
const connections = 32;

for (const engine of engines) {
  describe(engine.name, () => {
    test(
      `no acknowledged plant is lost in ${kills} kills (PLANTSTORE_TEST_SEED=${seed})`,
      async () => {
        await using place = await engine.createTestStore();
        const load = new Load();
        const random = new Random(seed);
        let token: string | undefined;
        for (let kill = 0; kill < kills; kill++) {
          await using server = await RunningServer.start({ database: place.database });
          token ??= await server.createToken();
          load.startUntilGone([{ url: server.url, token }], connections);
          // Creates are acknowledged before each kill, however slow the machine is.
          await load.acknowledgedMore(11);
          await Bun.sleep(random.between(0, 150));
          await server.stop("SIGKILL");
          await load.ended();
        }

        // Before anything else opens the store, as it was left by the last kill.
        if (place.database.startsWith("sqlite:"))
          expect(integrityOf(place.database.slice("sqlite:".length))).toBe("ok");
        await using server = await RunningServer.start({ database: place.database });
        expect(load.audit((await server.command("export")).stdout)).toEqual([]);
        expect(load.acknowledged.size).toBeGreaterThan(kills * 10);
      },
      60_000 + kills * 10_000,
    );
  });
}
