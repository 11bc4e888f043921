// The model: the plants that clients sent, the responses they got, and what must therefore be in
// the store.

import type { Plant } from "../../../src/contract/contract.ts";
import { plantJson } from "../../../src/contract/plant.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { plantStore } from "../../support/contracts.ts";

/** A client's knowledge of its plant once the request has ended. */
export type KnownOutcome =
  /** 200. */
  | "acknowledged"
  /** 40009. */
  | "conflict"
  /** An error which means that this request has not stored the plant. */
  | "refused"
  /** 503 with "it is not known", or no response. */
  | "unknown";

export class Model {
  readonly #sent = new Map<PlantId, Set<string>>();
  readonly #acknowledged = new Map<PlantId, string>();
  readonly #conflicts: { id: PlantId; json: string }[] = [];
  readonly #refusedOnly = new Map<string, PlantId>();
  readonly counts: Record<KnownOutcome, number> = { acknowledged: 0, conflict: 0, refused: 0, unknown: 0 };

  get acknowledged(): ReadonlyMap<PlantId, string> {
    return this.#acknowledged;
  }

  /** Records that a request with this plant is sent. */
  send({ id, ...rest }: Plant): void {
    const json = plantJson(plantStore, { id, ...rest });
    const known = this.#sent.get(id) ?? new Set();
    // It was refused before, and may be stored now.
    this.#refusedOnly.delete(json);
    this.#sent.set(id, known.add(json));
  }

  /**
   * Records how a request ended.
   *
   * @param isAlone whether no other request has carried an equal plant.
   */
  record(plant: Plant, outcome: KnownOutcome, isAlone: boolean): void {
    const json = plantJson(plantStore, plant);
    this.counts[outcome]++;
    if (outcome === "acknowledged")
      this.#acknowledged.set(plant.id, this.#acknowledged.get(plant.id) ?? json);
    else if (outcome === "conflict") this.#conflicts.push({ id: plant.id, json });
    else if (outcome === "refused" && isAlone) this.#refusedOnly.set(json, plant.id);
  }

  /** Compares the model with the contents of a store; returns the violations. */
  audit(stored: ReadonlyMap<PlantId, string>): string[] {
    const violations: string[] = [];
    for (const [id, json] of this.#acknowledged) {
      const found = stored.get(id);
      if (found === undefined) violations.push(`lost: ${json} was acknowledged`);
      else if (found !== json) violations.push(`changed: ${json} was acknowledged, ${found} is stored`);
    }
    for (const { id, json } of this.#conflicts) {
      const found = stored.get(id);
      if (found === undefined) violations.push(`no winner: ${json} was refused as a conflict with nothing`);
      else if (found === json)
        violations.push(`half there: ${json} was refused as a conflict, and is stored`);
    }
    for (const [json, id] of this.#refusedOnly)
      if (stored.get(id) === json) violations.push(`half there: ${json} was refused, and is stored`);
    for (const [id, json] of stored)
      if (!this.#sent.get(id)?.has(json)) violations.push(`never sent: ${json} is stored`);
    return violations;
  }
}
