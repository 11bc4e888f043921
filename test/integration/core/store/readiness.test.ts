// Readiness: how many probes it sends, counted at a real engine.

import { describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import type { NewPlant } from "../../../../src/core/contract/plant.ts";
import { type Outcome, type PlantStore, toEntries } from "../../../../src/core/store/plant-store.ts";
import { Readiness } from "../../../../src/core/store/readiness.ts";
import { engines } from "../../../support/engines.ts";
import { TemporaryFolder, withStore } from "../../../support/server.ts";
import { openedStore } from "../../../support/stored-plants.ts";

/** A store whose probes are counted, and a clock that moves by hand or by a pause. */
class ProbedStore implements AsyncDisposable {
  probes = 0;
  now = 0;
  /** When each probe began. */
  readonly probedAt: number[] = [];
  readonly readiness: Readiness;
  readonly #store: PlantStore & AsyncDisposable;

  private constructor(store: PlantStore & AsyncDisposable) {
    this.#store = store;
    const counted = {
      assertWritable: () => {
        this.probes++;
        this.probedAt.push(this.now);
        return store.assertWritable();
      },
    };
    const pause = async (ms: number) => {
      this.now += ms;
    };
    this.readiness = new Readiness(counted, () => this.now, pause);
  }

  static async open(database: string): Promise<ProbedStore> {
    return new ProbedStore(await openedStore(database, () => undefined));
  }

  /** Commits a batch, and updates the readiness as the group commit does. */
  async create(plants: readonly NewPlant[]): Promise<Outcome[]> {
    const outcomes = await this.#store.create(toEntries(plants));
    this.readiness.update(outcomes);
    return outcomes;
  }

  async execute(statements: readonly string[]): Promise<void> {
    await using sql = await this.#store.openSql("write");
    await sql.transaction(statements.map((statement) => ({ sql: statement })));
  }

  /** Whether it is ready, and how many probes that took. */
  async ask(): Promise<[isReady: boolean, probes: number]> {
    const before = this.probes;
    const [{ status }] = await Promise.allSettled([this.readiness.assertReady()]);
    return [status === "fulfilled", this.probes - before];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }
}

/** A trigger by which the store refuses every plant. */
const triggers: Readonly<Record<string, { readonly create: readonly string[]; readonly drop: string }>> = {
  sqlite: {
    create: ["CREATE TRIGGER refuse BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'refused'); END"],
    drop: "DROP TRIGGER refuse",
  },
  postgres: {
    create: [
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''refused''; END'",
      "CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()",
    ],
    drop: "DROP TRIGGER refuse ON plants",
  },
};

for (const engine of engines) {
  describe(`${engine.name}: readiness`, () => {
    test("one probe serves all requests while it runs, and for a second after it", async () => {
      await using place = await engine.createTestStore();
      await using store = await ProbedStore.open(place.database);
      await Promise.all(Array.from({ length: 200 }, () => store.readiness.assertReady()));
      expect(store.probes).toBe(1);
      store.now += 999;
      expect(await store.ask()).toEqual([true, 0]);
      store.now += 1;
      expect(await store.ask()).toEqual([true, 1]);
    });

    test("a committed create is evidence for a second; a batch that wrote nothing is not", async () => {
      await using place = await engine.createTestStore();
      await using store = await ProbedStore.open(place.database);
      const plant = { id: 1n, name: "Monstera" };
      await store.create([{ ...plant, id: 2n }]);
      // Before the first probe it is not.
      expect(await store.ask()).toEqual([true, 1]);
      store.now += 10_000;
      expect(await store.create([plant])).toEqual(["created"]);
      store.now += 999;
      expect(await store.ask()).toEqual([true, 0]);
      store.now += 10_000;
      expect(await store.create([plant, { ...plant, name: "Ficus" }])).toEqual(["unchanged", "conflict"]);
      expect(await store.ask()).toEqual([true, 1]);
    });

    const trigger = triggers[engine.engine];
    test.skipIf(trigger === undefined)(
      "a probe writes what a create writes, and leaves no plant",
      async () => {
        await using place = await engine.createTestStore();
        await using store = await ProbedStore.open(place.database);
        expect(await store.ask()).toEqual([true, 1]);
        await store.execute(trigger?.create ?? []);
        expect(await store.create([{ id: 1n, name: "Monstera" }])).toEqual(["unavailable"]);
        expect(await store.ask()).toEqual([false, 1]);
        await store.execute([trigger?.drop ?? ""]);
        expect(await store.ask()).toEqual([true, 1]);
        expect(await withStore(place.database, "existing", (opened) => opened.count({}))).toBe(0);
      },
    );
  });
}

test("after a failed create only a probe is evidence, and probes of a failing store are spaced", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using store = await ProbedStore.open(`sqlite:${path}`);
  expect(await store.ask()).toEqual([true, 1]);
  renameSync(path, folder.file("away"));
  expect(await store.ask()).toEqual([true, 0]);
  expect(await store.create([{ id: 1n, name: "Monstera" }])).toEqual(["unavailable"]);
  for (let asked = 0; asked < 5; asked++) expect(await store.ask()).toEqual([false, 1]);
  const distances = store.probedAt.slice(1).map((at, index) => at - (store.probedAt[index] ?? 0));
  expect(Math.min(...distances)).toBe(100);

  renameSync(folder.file("away"), path);
  // It may have been a plant that fitted where the probe does not.
  expect(await store.create([{ id: 2n, name: "Monstera" }])).toEqual(["created"]);
  expect(await store.ask()).toEqual([true, 1]);
  store.now += 10_000;
  expect(await store.create([{ id: 3n, name: "Monstera" }])).toEqual(["created"]);
  expect(await store.ask()).toEqual([true, 0]);
});
