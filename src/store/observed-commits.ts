// Lets the commits of a store be observed.

import type { BatchCommitted, Clock } from "../observability/server-event.ts";
import type { PlantStore } from "./plant-store.ts";

/** The same store, whose batches are observed when they come back and before any of their plants is answered. */
export function withCommitHook(
  store: Pick<PlantStore, "create">,
  now: Clock,
  observe: (committed: BatchCommitted) => void,
): Pick<PlantStore, "create"> {
  return {
    async create(batch) {
      const startedAt = now();
      const outcomes = await store.create(batch);
      observe({ kind: "batchCommitted", plants: batch.length, startedAt, endedAt: now() });
      return outcomes;
    },
  };
}
