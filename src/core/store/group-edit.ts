// Group edit: changes of clients that arrive while a transaction is under way share the next one,
// each with its own outcome and its own row of the history. Changes of one plant keep their order.

import type { EditOutcome, PlantEdit, RunPart } from "./plant-edit.ts";
import type { PlantStore } from "./plant-store.ts";
import { CallerQueue, TurnTimeout } from "./turns.ts";

/** Limits the memory of a group, and how long the batches of creates wait for it on SQLite. */
const groupEditsMax = 64;

interface WaitingEdit {
  readonly edit: PlantEdit;
  readonly run: RunPart;
  readonly deadline: number;
  readonly response: PromiseWithResolvers<EditOutcome>;
}

export class GroupEdit {
  readonly #store: Pick<PlantStore, "edit">;
  readonly #waitMsMax: number;
  readonly #waiting = new CallerQueue<WaitingEdit>();
  #isEditing = false;

  /** @param waitMsMax how long an edit may wait until its transaction begins. */
  constructor(store: Pick<PlantStore, "edit">, waitMsMax: number) {
    this.#store = store;
    this.#waitMsMax = waitMsMax;
  }

  /** Makes edits. Rejects with TurnTimeout, or as the store does for their transaction. */
  edit(caller: string, edits: readonly PlantEdit[], run: RunPart): Promise<EditOutcome[]> {
    const deadline = performance.now() + this.#waitMsMax;
    const outcomes = edits.map((edit, index) => {
      const response = Promise.withResolvers<EditOutcome>();
      const own = { ...run, first: run.first + index };
      this.#waiting.push(caller, { edit, run: own, deadline, response });
      return response.promise;
    });
    if (!this.#isEditing) void this.#editAll();
    return Promise.all(outcomes);
  }

  async #editAll(): Promise<void> {
    this.#isEditing = true;
    for (let group = this.#nextGroup(); group.length > 0; group = this.#nextGroup()) await this.#make(group);
    this.#isEditing = false;
  }

  #nextGroup(): WaitingEdit[] {
    const group: WaitingEdit[] = [];
    while (group.length < groupEditsMax) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      if (performance.now() > waiting.deadline) waiting.response.reject(new TurnTimeout("the store is busy"));
      else group.push(waiting);
    }
    return group;
  }

  async #make(group: readonly WaitingEdit[]): Promise<void> {
    try {
      const edits = group.map(({ edit }) => edit);
      const runs = group.map(({ run }) => run);
      const outcomes = await this.#store.edit(edits, runs);
      for (const [index, { response }] of group.entries()) response.resolve(outcomes[index] as EditOutcome);
    } catch (error) {
      for (const { response } of group) response.reject(error);
    }
  }
}
