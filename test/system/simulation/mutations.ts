// Planted bugs, each of which the simulation must find.

import type { Plant } from "../../../src/contract/contract.ts";
import { type Outcome, toEntries } from "../../../src/store/plant-store.ts";
import { plantStore } from "../../support/contracts.ts";
import type { Mutation } from "./environment.ts";

/** Maps the outcomes of every batch. */
function outcomes(change: (outcomes: Outcome[]) => Outcome[]): Mutation {
  return { createBatch: (create) => async (batch) => change(await create(batch)) };
}

/** Maps the plants of every batch. */
function plants(change: (plant: Plant) => Plant): Mutation {
  return {
    createBatch: (create) => (batch) =>
      create(
        toEntries(
          plantStore,
          batch.map(({ plant }) => change(plant)),
        ),
      ),
  };
}

const instead = (from: Outcome, to: Outcome) =>
  outcomes((all) => all.map((outcome) => (outcome === from ? to : outcome)));

const never = () => new Promise<never>(() => undefined);

export const mutations: Readonly<Record<string, Mutation>> = {
  none: {},

  acknowledgesBeforeTheCommit: {
    createBatch: (create) => async (batch) => {
      void create(batch).catch(() => undefined);
      return batch.map(() => "created");
    },
  },
  answersAConflictAsUnchanged: instead("conflict", "unchanged"),
  answersAReplayAsAConflict: instead("unchanged", "conflict"),
  treatsUnavailableAsNotStored: instead("unavailable", "conflict"),
  treatsUnavailableAsStored: instead("unavailable", "created"),
  mixesUpABatch: outcomes((all) => all.toReversed()),
  forgetsTheLastOfABatch: outcomes((all) => (all.length > 1 ? all.slice(0, -1) : all)),
  neverEndsSomeBatches: {
    createBatch: (create, random) => (batch) => (random.chance(0.02) ? never() : create(batch)),
  },
  acknowledgesWhatTheEngineFailedOn: {
    createOne: (create) => (pending) => create(pending).catch(() => "created" as const),
  },
  dropsAPlant: {
    createOne: (create, random) => (pending) => (random.chance(0.02) ? never() : create(pending)),
  },
  storesWhatItRefuses: {
    createOne: (create, random) => async (pending) => {
      const outcome = create(pending);
      if (!random.chance(0.02)) return outcome;
      // The request has ended, and does not wait for it.
      outcome.catch(() => undefined);
      return "overloaded";
    },
  },
  queuesWithoutEnd: { limits: { queuePlantsMax: 1_000_000 } },
  dropsTags: plants(({ id, values }) => ({ id, values: values.with(1, undefined) })),
  losesDigits: plants(({ id, values }) => ({ id: BigInt.asIntN(64, BigInt(Number(id))), values })),
  overwrites: {
    sqliteSql: (sql) => sql.replace("DO NOTHING", "DO UPDATE SET name = excluded.name, tag = excluded.tag"),
  },
  neverRollsBack: { sqliteSql: (sql) => sql.replace("ROLLBACK", "SELECT 1") },
  goesOnAfterAFailedFsync: { hidesFsync: true },
};
