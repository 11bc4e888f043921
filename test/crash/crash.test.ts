// kill -9 under load, again and again: every acknowledged plant is there afterwards, exact, and nothing is there
// that was never sent.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { newPlantJson } from "../../src/contract/plant.ts";
import { engines } from "../harness/engines.ts";
import { plantJson, post } from "../harness/http.ts";
import { RunningServer } from "../harness/server.ts";

const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 30);
const connections = 32;

/** Creates plants over many connections until the server is gone, and keeps books. */
class Load {
  readonly sent = new Map<bigint, string>();
  readonly acknowledged = new Set<bigint>();
  #nextId = 1n;

  async run(url: string, token: string): Promise<void> {
    await Promise.all(Array.from({ length: connections }, () => this.#connection({ url, token })));
  }

  async #connection(target: { url: string; token: string }): Promise<void> {
    for (;;) {
      // Spread over all of int64, so that pages are split and rewritten, not only appended.
      const id = BigInt.asIntN(64, this.#nextId++ * 0x9e37_79b9_7f4a_7c15n);
      const plant = { id, name: `plant ${id}`.repeat(1 + Number(id & 7n)), tag: `tag ${id}` };
      this.sent.set(id, newPlantJson(plant));
      try {
        const { status } = await post(target, plantJson(id, plant.name, plant.tag));
        if (status === 200) this.acknowledged.add(id);
      } catch {
        // The server was killed; whether this plant was stored is for the audit to see.
        return;
      }
    }
  }
}

for (const engine of engines) {
  describe(engine.name, () => {
    test(`no acknowledged plant is lost in ${kills} kills`, async () => {
      await using place = await engine.newPlace();
      const load = new Load();
      let token: string | undefined;
      for (let kill = 0; kill < kills; kill++) {
        await using server = await RunningServer.start({ database: place.database });
        token ??= await server.createToken();
        const running = load.run(server.url, token);
        await Bun.sleep(20 + Math.random() * 150);
        await server.stop("SIGKILL");
        await running;
      }

      // Before anything else opens the store, as it was left by the last kill.
      if (place.database.startsWith("sqlite:"))
        expect(integrityOf(place.database.slice("sqlite:".length))).toBe("ok");
      await using server = await RunningServer.start({ database: place.database });
      const { stdout } = await server.command("export");
      const stored = new Map(
        stdout
          .trimEnd()
          .split("\n")
          .map((line) => [idOf(line), line]),
      );
      for (const id of load.acknowledged) expect(stored.get(id)).toBe(load.sent.get(id) ?? "never sent");
      for (const [id, line] of stored) expect(line).toBe(load.sent.get(id) ?? "never sent");
      expect(load.acknowledged.size).toBeGreaterThan(kills * 10);
    }, 180_000);
  });
}

function integrityOf(path: string): unknown {
  const database = new Database(path);
  const result = database.query("PRAGMA integrity_check").values()[0]?.[0];
  database.close();
  return result;
}

function idOf(line: string): bigint {
  return BigInt(/^\{"id":(-?\d+),/.exec(line)?.[1] ?? Number.NaN);
}
