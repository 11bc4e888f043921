// An engine whose commits the test ends one by one, for the group commit and the queues of nodes.

import type { Plant } from "../../../src/contract/contract.ts";
import type { CreateOutcome, GroupCommit } from "../../../src/store/group-commit.ts";
import type { NewEntry, Outcome } from "../../../src/store/plant-store.ts";
import { plantStore } from "../../support/contracts.ts";

export class ManualEngine {
  readonly collection = plantStore;
  /** The message with which probes fail; undefined if they succeed. */
  failure: string | undefined;
  readonly #ends: PromiseWithResolvers<Outcome[]>[] = [];
  /** The ids of each batch. */
  readonly batches: number[][] = [];

  create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    const end = Promise.withResolvers<Outcome[]>();
    this.#ends.push(end);
    this.batches.push(batch.map(({ plant }) => Number(plant.id)));
    return end.promise;
  }

  async assertWritable(): Promise<void> {
    if (this.failure !== undefined) throw new Error(this.failure);
  }

  /** Ends the last commit with an outcome for each plant, by default with success. */
  async end(...outcomes: Outcome[]): Promise<void> {
    const created = this.batches.at(-1)?.map(() => "created" as const);
    this.#ends.at(-1)?.resolve(outcomes.length > 0 ? outcomes : (created ?? []));
    await settled();
  }

  /** Fails the last commit. */
  fail(message: string): void {
    this.#ends.at(-1)?.reject(new Error(message));
  }
}

/** Resolves when what follows from a commit has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

let callers = 0;

/** Each create has another caller by default, so that no share of a queue is exhausted. */
export function create(
  queue: Pick<GroupCommit, "create">,
  plant: Plant,
  callerKey = `caller ${++callers}`,
): Promise<CreateOutcome> {
  return new Promise((settle, fail) =>
    queue.create({ collection: plantStore, plant, creator: null, callerKey, settle, fail }),
  );
}
