// Shows the dialog of one plant: all of its fields, when and by whom it was created, its change or
// deletion, and its history.

import { capitalized } from "../../contract/words.ts";
import type { getPlant } from "../calls/plant-calls.ts";
import type { PlantChanges } from "../calls/plant-changes.ts";
import { type Answer, get, post } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { formatDate, html, onSubmit, untrustedText } from "./markup.ts";
import { bodyOf, type Draft, draftOf, labelOf } from "./plant-draft.ts";
import { FieldInputs } from "./plant-form.ts";
import { History } from "./plant-history.ts";
import { referenceLink } from "./plant-table.ts";
import { collection } from "./shown-contract.ts";

type Plant = NonNullable<Answer<typeof getPlant>>;

type Mode = "shown" | "edited" | "deleted";

/** The texts that an operator has typed; other fields show what is stored, also after it has changed. */
interface Form {
  /** The texts that were stored when the form was opened. */
  readonly opened: Draft;
  /** In the order of the fields; undefined for one that was not edited. */
  readonly typed: readonly (string | undefined)[];
}

export function PlantDialog({
  id,
  onEdited,
  onClose,
}: {
  id: string;
  onEdited: () => void;
  onClose: () => void;
}) {
  const loaded = useLoaded(async () => ({ plant: await get<Plant | null>("plant", { id }) }), []);
  const isLoaded = loaded.data !== null || loaded.error !== "";
  const plant = loaded.data?.plant ?? null;
  const [mode, setMode] = useState<Mode>("shown");
  const [form, setForm] = useState<Form>({ opened: [], typed: [] });
  const { isBusy, error, setError, call } = useCall();
  const show = (next: Mode) => () => {
    setMode(next);
    setError("");
  };
  const changed = () => {
    onEdited();
    void loaded.reload();
  };
  /** Edits the plant, if it is still the one that this dialog shows. */
  const edit = ({ version }: Plant, change: "delete" | "replace", value: () => string) =>
    call(async () => {
      const made: Answer<PlantChanges["edit"]> = await post("edits", {
        plants: `${encodeURIComponent(id)}:${version}`,
        change,
        value: value(),
      });
      await loaded.reload();
      // The next attempt is compared with what is stored now. What was typed stays, beside what is stored.
      if (made.left.length > 0)
        throw new Error(
          `${capitalized(collection.one)} ${id} has changed since you opened it. Nothing was saved.`,
        );
      onEdited();
      setMode("shown");
    });
  const titles = {
    shown: `${capitalized(collection.one)} ${id}`,
    edited: `Edit ${collection.one} ${id}`,
    deleted: `Delete ${collection.one} ${id}?`,
  };
  return html`
    <${Dialog} title=${titles[mode]} isWide onClose=${onClose}>
      ${!isLoaded && html`<p class="note" role="status">Loading…</p>`}
      ${isLoaded && plant === null && loaded.error === "" && html`<p class="empty">No ${collection.one} has the id ${id}.</p>`}
      ${plant !== null && mode !== "edited" && html`<${Shown} ...${plant} />`}
      ${plant !== null && mode === "edited" && editForm(plant)}
      <${ErrorMessage} text=${error === "" ? loaded.error : error} />
      ${plant !== null && mode !== "edited" && actions(plant)}
      ${isLoaded && mode === "shown" && html`<${History} id=${id} plant=${plant} onUndone=${changed} />`}
    <//>
  `;

  function actions(stored: Plant) {
    if (mode === "deleted")
      return html`
        <p class="note">A client that sends this id again creates the ${collection.one} again. The deletion can be undone from its history.</p>
        <div class="actions">
          <button type="button" onClick=${show("shown")}>Cancel</button>
          <button type="button" class="danger" disabled=${isBusy} onClick=${() => edit(stored, "delete", () => "")}>Delete the ${collection.one}</button>
        </div>
      `;
    const startEdit = () => {
      setForm({ opened: draftOf(stored.values), typed: [] });
      show("edited")();
    };
    return html`
      <div class="actions">
        <button type="button" class="danger" onClick=${show("deleted")}>Delete</button>
        <button type="button" onClick=${startEdit}>Edit</button>
      </div>
    `;
  }

  function editForm(stored: Plant) {
    const texts = draftOf(stored.values);
    const draft = texts.map((text, index) => form.typed[index] ?? text);
    const isUnchanged = texts.every((text, index) => draft[index] === text);
    const setDraft = (next: Draft) =>
      setForm({ ...form, typed: next.map((text, index) => (text === texts[index] ? undefined : text)) });
    const notes = texts.map((text, index) =>
      draft[index] === text || text === form.opened[index]
        ? undefined
        : html`Meanwhile stored: ${text === "" ? "nothing" : untrustedText(text)}`,
    );
    const save = () => !isUnchanged && edit(stored, "replace", () => bodyOf(id, draft, stored.values));
    return html`
      <form onSubmit=${onSubmit(save)}>
        <${FieldInputs} draft=${draft} notes=${notes} isMultiline onDraft=${setDraft} />
        <p class="note">If a client sends this id again, its ${collection.one} is compared with the changed one. The change can be undone.</p>
        <div class="actions">
          <button type="button" onClick=${show("shown")}>Cancel</button>
          <button class="main" disabled=${isUnchanged || isBusy}>Save</button>
        </div>
      </form>
    `;
  }
}

function Shown({ values, createdAt, token }: Plant) {
  return html`
    <dl>
      ${collection.fields.map(({ name }, index) => {
        const value = values[index] ?? null;
        return html`
          <dt>${labelOf(name)}</dt>
          <dd class="full-text" tabindex="0" dir="auto">${shownText(index, value)}</dd>
        `;
      })}
      <dt>Created</dt><dd>${formatDate(createdAt)}${token !== null && html` with the token ${untrustedText(token)}`}</dd>
    </dl>
  `;
}

function shownText(index: number, value: string | null) {
  if (value === null) return html`<span class="faint">none</span>`;
  const link = referenceLink(index, value);
  return link === undefined ? untrustedText(value) : html`<a href=${link}>${untrustedText(value)}</a>`;
}
