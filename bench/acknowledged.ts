// Holds each create's answer against the store: what was acknowledged is there, and what was refused is not.

import { fates } from "./generated-load.ts";
import { idsPerRun } from "./load.ts";
import { exportLines } from "./plantstore.ts";
import { whole } from "./table.ts";

/** What became of the creates of one run: a byte each, from the first id on. */
export interface AccountedRun {
  readonly firstId: number;
  readonly fates: Uint8Array;
}

export interface Account {
  readonly store: string;
  readonly accepted: number;
  readonly refused: number;
}

/** Throws if a create that was acknowledged is not in the store, or one that was refused is. */
export async function accountFor(
  store: string,
  database: string,
  runs: readonly AccountedRun[],
): Promise<Account> {
  const stored = await storedOf(database, runs);
  const count = { accepted: 0, refused: 0, lost: 0, storedAnyway: 0 };
  for (const [run, { fates: fatesOfRun }] of runs.entries()) {
    for (const [index, fate] of fatesOfRun.entries()) {
      const isStored = stored[run]?.[index] === 1;
      if (fate === fates.accepted) count[isStored ? "accepted" : "lost"]++;
      else count[isStored ? "storedAnyway" : "refused"]++;
    }
  }
  if (count.lost > 0 || count.storedAnyway > 0)
    throw new Error(
      `${store} lost ${count.lost} acknowledged plants, and has ${count.storedAnyway} refused ones`,
    );
  return { store, accepted: count.accepted, refused: count.refused };
}

export function accountText({ store, accepted, refused }: Account): string {
  return `${store} has all ${whole(accepted)} plants that it acknowledged, and none of ${whole(refused)} that it refused`;
}

/** For each create of each run a 1 if its plant is in the store. */
async function storedOf(database: string, runs: readonly AccountedRun[]): Promise<Uint8Array[]> {
  const stored = runs.map(({ fates }) => new Uint8Array(fates.length));
  const runByFirstId = new Map(runs.map(({ firstId }, run) => [firstId, run]));
  for await (const line of exportLines(database)) {
    const { id } = JSON.parse(line) as { id: number };
    const index = id % idsPerRun;
    const run = runByFirstId.get(id - index);
    if (run !== undefined) stored[run]?.fill(1, index, index + 1);
  }
  return stored;
}
