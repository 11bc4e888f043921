// The reference model: the requests and their outcomes as clients know them, and what must therefore be stored.

import { type NewPlant, newPlantJson } from "../../../src/contract/plant.ts";

/** The outcome of a request as its client knows it. */
export type KnownOutcome =
  /** 200. */
  | "acknowledged"
  /** 40009. */
  | "conflict"
  /** Any refusal that says for certain that the plant is not stored because of this request. */
  | "refused"
  /** 503 with "may not be stored", no answer at all. */
  | "unknown";

export class Model {
  readonly #sent = new Map<bigint, Set<string>>();
  readonly #acknowledged = new Map<bigint, string>();
  readonly #conflicts: { id: bigint; json: string }[] = [];
  readonly #refusedOnly = new Map<string, bigint>();
  readonly counts: Record<KnownOutcome, number> = { acknowledged: 0, conflict: 0, refused: 0, unknown: 0 };

  get acknowledged(): ReadonlyMap<bigint, string> {
    return this.#acknowledged;
  }

  /** A request with this plant is on its way. */
  recordRequest({ id, ...rest }: NewPlant): void {
    const json = newPlantJson({ id, ...rest });
    const known = this.#sent.get(id) ?? new Set();
    // Refused before, and now it may well be stored.
    this.#refusedOnly.delete(json);
    this.#sent.set(id, known.add(json));
  }

  /** @param isAlone whether no other request has ever carried this very plant */
  recordOutcome(plant: NewPlant, outcome: KnownOutcome, isAlone: boolean): void {
    const json = newPlantJson(plant);
    this.counts[outcome]++;
    if (outcome === "acknowledged")
      this.#acknowledged.set(plant.id, this.#acknowledged.get(plant.id) ?? json);
    else if (outcome === "conflict") this.#conflicts.push({ id: plant.id, json });
    else if (outcome === "refused" && isAlone) this.#refusedOnly.set(json, plant.id);
  }

  /** The differences between the model and a store, as sentences. */
  audit(stored: ReadonlyMap<bigint, string>): string[] {
    const faults: string[] = [];
    for (const [id, json] of this.#acknowledged) {
      const there = stored.get(id);
      if (there === undefined) faults.push(`lost: ${json} was acknowledged`);
      else if (there !== json) faults.push(`changed: ${json} was acknowledged, ${there} is stored`);
    }
    for (const { id, json } of this.#conflicts) {
      const there = stored.get(id);
      if (there === undefined) faults.push(`no winner: ${json} was refused as a conflict with nothing`);
      else if (there === json) faults.push(`half there: ${json} was refused as a conflict, and is stored`);
    }
    for (const [json, id] of this.#refusedOnly)
      if (stored.get(id) === json) faults.push(`half there: ${json} was refused, and is stored`);
    for (const [id, json] of stored)
      if (!this.#sent.get(id)?.has(json)) faults.push(`never sent: ${json} is stored`);
    return faults;
  }
}
