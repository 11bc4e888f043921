// Planted bugs, each of which the simulation must find.

import type { CreateOutcome, GroupCommit, PendingCreate } from "../../../src/core/store/group-commit.ts";
import { type Outcome, toEntries } from "../../../src/core/store/plant-store.ts";
import type { GroupCommitCalls, Mutation, ProcessStore } from "./environment.ts";
import type { SimulationOptions } from "./simulation.ts";

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

const instead = (from: Outcome, to: Outcome) =>
  outcomes((all) => all.map((outcome) => (outcome === from ? to : outcome)));

export const mutations: Readonly<Record<string, SimulationOptions>> = {
  none: {},

  acknowledgesBeforeTheCommit: {
    mutation: {
      store: (store) =>
        withCreate(store, async (batch) => {
          void store.create(batch).catch(() => undefined);
          return batch.map(() => "created");
        }),
    },
  },
  answersAConflictAsUnchanged: { mutation: instead("conflict", "unchanged") },
  answersAReplayAsAConflict: { mutation: instead("unchanged", "conflict") },
  treatsUnavailableAsNotStored: { mutation: instead("unavailable", "conflict") },
  treatsUnavailableAsStored: { mutation: instead("unavailable", "created") },
  mixesUpABatch: { mutation: outcomes((all) => all.toReversed()) },
  forgetsTheLastOfABatch: {
    mutation: outcomes((all) => (all.length > 1 ? all.slice(0, -1) : all)),
  },
  neverEndsSomeBatches: {
    mutation: {
      store: (store, { random }) =>
        withCreate(store, async (batch) =>
          random.chance(0.02) ? new Promise(() => undefined) : store.create(batch),
        ),
    },
  },
  acknowledgesWhatTheEngineFailedOn: {
    mutation: {
      groupCommit: (groupCommit) =>
        withGroupCommitCreate(
          groupCommit,
          (create) => (pending) => create(pending).catch(() => "created" as const),
        ),
    },
  },
  dropsAPlant: {
    mutation: {
      groupCommit: (groupCommit, { random }) =>
        withGroupCommitCreate(
          groupCommit,
          (create) => (pending) => (random.chance(0.02) ? new Promise(() => undefined) : create(pending)),
        ),
    },
  },
  storesWhatItRefuses: {
    mutation: {
      groupCommit: (groupCommit, { random }) =>
        withGroupCommitCreate(groupCommit, (create) => async (pending) => {
          const outcome = create(pending);
          if (!random.chance(0.02)) return outcome;
          // The request has ended, and does not wait for it.
          outcome.catch(() => undefined);
          return "overloaded";
        }),
    },
  },
  queuesWithoutEnd: { mutation: { limits: { queuePlantsMax: 1_000_000 } } },
  dropsTags: {
    mutation: {
      store: (store) =>
        withCreate(store, (batch) =>
          store.create(
            toEntries(batch.map(({ plant: { id, values } }) => ({ id, values: values.with(1, undefined) }))),
          ),
        ),
    },
  },
  losesDigits: {
    mutation: {
      store: (store) =>
        withCreate(store, (batch) =>
          store.create(
            toEntries(
              batch.map(({ plant }) => ({ ...plant, id: BigInt.asIntN(64, BigInt(Number(plant.id))) })),
            ),
          ),
        ),
    },
  },
  overwrites: {
    mutation: {
      sqliteSql: (sql) => sql.replace("DO NOTHING", "DO UPDATE SET name = excluded.name, tag = excluded.tag"),
    },
  },
  neverRollsBack: {
    mutation: { sqliteSql: (sql) => sql.replace("ROLLBACK", "SELECT 1") },
  },
  goesOnAfterAFailedFsync: { mutation: { hidesFsync: true } },
};
