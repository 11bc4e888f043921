// The console's calls for the history of edits, and the runs under which the console edits.

import { AdminError } from "../core/admin/request-bodies.ts";
import type { NewPlant, Plant } from "../core/contract/plant.ts";
import type { Notice } from "../core/observability/server-event.ts";
import type { EditOutcome, PlantEdit } from "../core/store/plant-edit.ts";
import {
  type EditCounts,
  EditRun,
  type HistoryCursor,
  type HistoryEntry,
  listEdits,
  undoRun,
} from "../operations/edits.ts";
import type { ConsoleContext } from "./context.ts";
import { parseId } from "./parse-id.ts";
import { BadRequestError } from "./responses.ts";

const entriesPerPage = 50;

export class Edits {
  readonly #context: ConsoleContext;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  /** Starts a run of the history. */
  startRun(client: string): EditRun {
    return new EditRun(this.#context.store, { by: "console", client });
  }

  /** Makes a single edit, in its own run, and reports it. */
  async edit(edit: PlantEdit, client: string): Promise<EditOutcome> {
    const [outcome = "missing"] = await this.startRun(client).edit([edit]);
    if (outcome === "done")
      this.report(edit.replacement === undefined ? "deleted" : "updated", edit.id, client);
    return outcome;
  }

  /** Reports what an operator has done to one plant. */
  report(change: "created" | "updated" | "deleted", id: bigint, client: string): void {
    this.#notice(`plant ${change}`, { id: String(id), client });
    this.#count(change === "created" ? 1 : 0, change === "deleted" ? 1 : 0);
  }

  /** Reports the edits of a run of several plants. Call it at its end. */
  reportRun({ id, made }: { readonly id: string; readonly made: EditCounts }, client: string): void {
    const { updated, deleted, restored } = made;
    if (updated + deleted + restored === 0) return;
    this.#notice("plants edited", { run: id, updated, deleted, restored, client });
    this.#count(restored, deleted);
  }

  #notice(message: string, fields: Notice["fields"]): void {
    this.#context.emit({ kind: "notice", message, fields: { by: "console", ...fields } });
  }

  #count(created: number, deleted: number): void {
    if (created + deleted === 0) return;
    const { emit, now } = this.#context;
    emit({ kind: "plantsChanged", created, unchanged: 0, deleted, endedAt: now() });
  }

  /** Lists the edits of a plant, the latest first. */
  async list(parameters: URLSearchParams) {
    const id = parseId(parameters.get("id") ?? "");
    const before = parameters.get("before");
    const after = before === null ? undefined : decodeCursor(before);
    const { entries, next } = await listEdits(await this.#context.reader(), { id, after }, entriesPerPage);
    return { edits: entries.map(toShown), next: next === undefined ? null : encodeCursor(next) };
  }

  /**
   * Undoes a run, or the edits of one plant in it.
   *
   * @param id "" for all plants of the run.
   */
  async undo({ run, id }: { run: string; id: string }, client: string) {
    const filter = { run, id: id === "" ? undefined : parseId(id) };
    const undo = this.startRun(client);
    const undoing = undoRun(undo, await this.#context.reader(), filter);
    const { found, undone, unchanged, left } = await undoing.finally(() => this.reportRun(undo, client));
    if (found === 0) throw new AdminError(404, "The history has no such run.");
    return { undone, unchanged, leftCount: left.length };
  }
}

function toShown({ run, editedAt, editor, before, after }: HistoryEntry) {
  return {
    run,
    editedAt: new Date(editedAt).toISOString(),
    editor,
    before: before === undefined ? null : withoutId(before),
    after: after === undefined ? null : withoutId(after),
  };
}

function withoutId({ id: _, ...fields }: NewPlant): Plant {
  return fields;
}

function encodeCursor({ editedAt, run, seq }: HistoryCursor): string {
  return `${editedAt}.${run}.${seq}`;
}

function decodeCursor(text: string): HistoryCursor {
  const [, editedAt, run, seq] = /^(\d{1,15})\.(\w{1,40})\.(\d{1,15})$/.exec(text) ?? [];
  if (run === undefined) throw new BadRequestError("There is no such page of the history.");
  return { editedAt: Number(editedAt), run, seq: Number(seq) };
}
