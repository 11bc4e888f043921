// Shows the history of a plant's edits, and undoes them.

import type { PlantChanges } from "../calls/plant-changes.ts";
import { type Answer, get, post } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatCount } from "./formats.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { formatDate, html, untrustedText } from "./markup.ts";
import { formatPlants } from "./shown-contract.ts";

type Edit = Answer<PlantChanges["history"]>["edits"][number];

/**
 * Undoes a run, or its edits of one plant, and resolves with a sentence about the result.
 *
 * @param id empty for all plants of the run.
 */
export async function undo(run: string, id: string) {
  const { undone, unchanged, leftCount, refusedCount, refusal } = await post<Answer<PlantChanges["undo"]>>(
    "edits/undo",
    {
      run,
      id,
    },
  );
  const parts = [
    `${formatCount(undone, "edit")} undone`,
    ...(unchanged > 0 ? [`${formatPlants(unchanged)} already as before`] : []),
    ...(leftCount > 0 ? [`${formatPlants(leftCount)} changed since and left as they are`] : []),
    ...(refusedCount > 0
      ? [`${formatPlants(refusedCount)} refused, as the contract of today does not allow what they were`]
      : []),
  ];
  return `${parts.join(", ")}.${refusal === null ? "" : ` ${refusal}`}`;
}

/** `plant` is what is stored: the list is loaded again when it changes. */
export function History({ id, plant, onUndone }: { id: string; plant: unknown; onUndone: () => void }) {
  const { data, error: loadError } = useLoaded(
    () => get<Answer<PlantChanges["history"]>>("edits", { id }),
    [plant],
  );
  const [done, setDone] = useState("");
  const { isBusy, error: undoError, call } = useCall();
  const error = undoError === "" ? loadError : undoError;
  const { edits = [], isComplete = true } = data ?? {};
  const undoEdit = ({ run }: Edit) => {
    setDone("");
    return call(async () => {
      setDone(await undo(run, id));
      onUndone();
    });
  };
  if (edits.length === 0) return html`<${ErrorMessage} text=${error} />`;
  return html`
    <h3>History</h3>
    <p class="note" role="status">${done}</p>
    <${ErrorMessage} text=${error} />
    <ul class="rows" aria-label="History">
      ${edits.map(
        (edit) => html`
          <li key=${edit.run + edit.editedAt}>
            <div class="grow">
              ${changeText(edit)}
              <small>${formatDate(edit.editedAt)} by ${untrustedText(editorName(edit.editor))}, run ${edit.run}</small>
            </div>
            <button type="button" class="quiet" disabled=${isBusy} onClick=${() => undoEdit(edit)}>Undo</button>
          </li>
        `,
      )}
    </ul>
    ${!isComplete && html`<p class="note">“plantstore history ${id}” lists older edits.</p>`}
  `;
}

function changeText({ kind, changes }: Edit) {
  if (kind === "unreadable") return html`<div>An edit that the contract of today cannot read</div>`;
  if (kind === "restored") return html`<div>Restored</div>`;
  const isDeleted = kind === "deleted";
  if (isDeleted && changes.length === 0) return html`<div>Deleted</div>`;
  return changes.map(
    ({ name, before, after }) =>
      html`<div>${isDeleted ? "Deleted, " : ""}${name}: ${shown(before)}${!isDeleted && html` → ${shown(after)}`}</div>`,
  );
}

function shown(text: string | null) {
  return text === null ? html`<span class="faint">none</span>` : untrustedText(text);
}

function editorName({ by, token, client, uid, user, sudoUser }: Edit["editor"]) {
  if (by === "client") return `a client with the token ${token}`;
  if (by === "console") return `the console at ${client}`;
  return `${user ?? `the user ${uid}`}${sudoUser === undefined ? "" : `, called by ${sudoUser},`} on the command line`;
}
