// A store that fails, as an engine does.

import { spyOn } from "bun:test";
import { OperatorError } from "../../src/base/operator-error.ts";
import type { PlantStore } from "../../src/store/plant-store.ts";

/**
 * Lets every create, or every edit, of a store fail until the result goes out of scope: with an
 * OperatorError as a store does that cannot be used now, otherwise as one that has a bug.
 */
export function failing(store: PlantStore, call: "create" | "edit", error: Error): Disposable {
  if (call === "create" && error instanceof OperatorError)
    return spyOn(store, "create").mockImplementation(async (batch) => batch.map(() => "unavailable"));
  const own = call === "edit" && store.editEach !== undefined ? "editEach" : call;
  return spyOn(store, own).mockRejectedValue(error);
}
