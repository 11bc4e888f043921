// Planted bugs, each of which the simulation must find.

import type { Plant } from "../../../src/core/contract/contract.ts";
import type { CreateOutcome, GroupCommit, PendingCreate } from "../../../src/core/store/group-commit.ts";
import { type Outcome, toEntries } from "../../../src/core/store/plant-store.ts";
import type { GroupCommitCalls, Mutation, ProcessStore } from "./environment.ts";

type Create = ProcessStore["create"];

function withCreate(store: ProcessStore, create: Create): ProcessStore {
  return { ...store, create };
}

type CreateOne = (pending: PendingCreate) => Promise<CreateOutcome>;

/** Replaces the creates of a group commit; `mutate` is given the real one. */
function withGroupCommitCreate(
  groupCommit: GroupCommit,
  mutate: (create: CreateOne) => CreateOne,
): GroupCommitCalls {
  const create = mutate(
    ({ plant, creator, callerKey }) =>
      new Promise((settle, fail) => groupCommit.create({ plant, creator, callerKey, settle, fail })),
  );
  return {
    create: (pending) => {
      create(pending).then(
        (outcome) => pending.settle(outcome),
        (error) => pending.fail(error),
      );
    },
    isFullFor: (caller) => groupCommit.isFullFor(caller),
  };
}

/** Maps the outcomes of every batch. */
function outcomes(change: (outcomes: Outcome[]) => Outcome[]): Mutation {
  return { store: (store) => withCreate(store, async (batch) => change(await store.create(batch))) };
}

/** Maps the plants of every batch. */
function plants(change: (plant: Plant) => Plant): Mutation {
  return {
    store: (store) =>
      withCreate(store, (batch) => store.create(toEntries(batch.map(({ plant }) => change(plant))))),
  };
}

const instead = (from: Outcome, to: Outcome) =>
  outcomes((all) => all.map((outcome) => (outcome === from ? to : outcome)));

export const mutations: Readonly<Record<string, Mutation>> = {
  none: {},

  acknowledgesBeforeTheCommit: {
    store: (store) =>
      withCreate(store, async (batch) => {
        void store.create(batch).catch(() => undefined);
        return batch.map(() => "created");
      }),
  },
  answersAConflictAsUnchanged: instead("conflict", "unchanged"),
  answersAReplayAsAConflict: instead("unchanged", "conflict"),
  treatsUnavailableAsNotStored: instead("unavailable", "conflict"),
  treatsUnavailableAsStored: instead("unavailable", "created"),
  mixesUpABatch: outcomes((all) => all.toReversed()),
  forgetsTheLastOfABatch: outcomes((all) => (all.length > 1 ? all.slice(0, -1) : all)),
  neverEndsSomeBatches: {
    store: (store, random) =>
      withCreate(store, async (batch) =>
        random.chance(0.02) ? new Promise(() => undefined) : store.create(batch),
      ),
  },
  acknowledgesWhatTheEngineFailedOn: {
    groupCommit: (groupCommit) =>
      withGroupCommitCreate(
        groupCommit,
        (create) => (pending) => create(pending).catch(() => "created" as const),
      ),
  },
  dropsAPlant: {
    groupCommit: (groupCommit, random) =>
      withGroupCommitCreate(
        groupCommit,
        (create) => (pending) => (random.chance(0.02) ? new Promise(() => undefined) : create(pending)),
      ),
  },
  storesWhatItRefuses: {
    groupCommit: (groupCommit, random) =>
      withGroupCommitCreate(groupCommit, (create) => async (pending) => {
        const outcome = create(pending);
        if (!random.chance(0.02)) return outcome;
        // The request has ended, and does not wait for it.
        outcome.catch(() => undefined);
        return "overloaded";
      }),
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
