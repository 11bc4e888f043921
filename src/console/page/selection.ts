// Shows the bar of the selected plants, which selects all that a search finds, and deletes them or
// changes their group in one run.

import type { PlantChanges } from "../calls/plant-changes.ts";
import { type Answer, post } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { useCall } from "./hooks.ts";
import { useState } from "./library.js";
import { html, untrustedText } from "./markup.ts";
import { groupLabel, labelOf } from "./plant-draft.ts";
import { undo } from "./plant-history.ts";
import { findAll } from "./search.ts";
import { collection, formatPlants, groupField } from "./shown-contract.ts";
import { Choice, TextField } from "./text-field.ts";

type Change = "delete" | "group";

/** Plants that can be edited at once. */
const plantsMax = 10_000;

/** A sentence names at most this many plants. */
const namedMax = 20;

/** `query` is the search that is shown, `versions` those of the plants that were shown. */
export function Selection({
  ids,
  versions,
  query,
  onSelect,
  onEdited,
}: {
  ids: Set<string>;
  versions: Map<string, string>;
  query: string;
  onSelect: (ids: Set<string>) => void;
  onEdited: () => void;
}) {
  const [change, setChange] = useState<Change | null>(null);
  const [group, setGroup] = useState("");
  /** The selected plants as they were shown when the question was asked. */
  const [asShown, setAsShown] = useState("");
  const [note, setNote] = useState("");
  /** The run that can be undone. */
  const [run, setRun] = useState("");
  const { isBusy, error, call } = useCall();
  const forget = () => {
    setNote("");
    setRun("");
  };

  const selectAll = () => {
    forget();
    return call(async () => {
      const found = await findAll(query, plantsMax);
      for (const { id, version } of found.plants) versions.set(id, version);
      onSelect(new Set(found.plants.map(({ id }) => id)));
      if (!found.isComplete)
        setNote(`These are the first ${formatPlants(found.plants.length)} that were found.`);
    });
  };
  const edit = async (chosen: Change) => {
    const result: Answer<PlantChanges["edit"]> = await post("edits", {
      plants: asShown,
      change: chosen,
      value: group,
    });
    const { edited, left } = result;
    const done = chosen === "delete" ? "deleted" : "changed";
    setNote(`${formatPlants(edited)} ${done}, in the run ${result.run}.${leftText(left)}`);
    setRun(edited > 0 ? result.run : "");
    onSelect(new Set());
    onEdited();
  };
  const undoRun = () => {
    forget();
    return call(async () => {
      setNote(await undo(run, ""));
      onEdited();
    });
  };
  const ask = (asked: Change) => () => {
    forget();
    setGroup("");
    setAsShown([...ids].map((id) => `${encodeURIComponent(id)}:${versions.get(id)}`).join(" "));
    setChange(asked);
  };

  const count = formatPlants(ids.size);
  return html`
    ${
      ids.size > 0 &&
      html`
        <div class="inline" role="group" aria-label=${`Selected ${collection.many}`}>
          <b role="status">${count} selected</b>
          <button type="button" class="quiet" disabled=${isBusy} onClick=${selectAll}>Select all found</button>
          <button type="button" class="quiet" onClick=${() => onSelect(new Set())}>Select none</button>
          ${groupField() !== undefined && html`<button type="button" disabled=${isBusy} onClick=${ask("group")}>Set the ${groupLabel()}</button>`}
          <button type="button" class="danger" disabled=${isBusy} onClick=${ask("delete")}>Delete</button>
        </div>
      `
    }
    <p class="note" role="status">
      ${isBusy && "Working… "}${note} ${run !== "" && html`<button type="button" class="link" onClick=${undoRun}>Undo</button>`}
    </p>
    <${ErrorMessage} text=${error} />
    ${
      change !== null &&
      html`
        <${Confirmation}
          title=${change === "delete" ? `Delete ${count}?` : `Set the ${groupLabel()} of ${count}?`}
          action=${change === "delete" ? `Delete ${count}` : `Change ${count}`}
          onConfirm=${() => edit(change)}
          onClose=${() => setChange(null)}
        >
          ${change === "group" && html`<${GroupInput} group=${group} onGroup=${setGroup} />`}
          <p class="note">
            ${change === "delete" ? `A client that sends one of these ids again creates the ${collection.one} again.` : group === "" ? `The ${groupLabel()} of each is removed.` : html`All of them get the ${groupLabel()} ${untrustedText(group)}.`}
            ${" "}It is one run of the history, and can be undone.
          </p>
        <//>
      `
    }
  `;
}

function GroupInput({ group, onGroup }: { group: string; onGroup: (group: string) => void }) {
  const { input = "text", isRequired = false } = collection.fields[collection.group] ?? {};
  const shared = { label: labelOf(groupField()?.name ?? ""), name: "group", value: group, onText: onGroup };
  if (typeof input !== "string")
    return html`<${Choice} options=${["", ...input].map((value) => [value, value || "none"])} ...${shared} />`;
  return html`<${TextField} dir="auto" hint=${isRequired ? "" : `Empty to remove the ${groupLabel()}`} ...${shared} />`;
}

/** A sentence that counts and names plants that were not edited; "" if there are none. */
function leftText(ids: string[]) {
  if (ids.length === 0) return "";
  const named = ids.slice(0, namedMax).join(", ") + (ids.length > namedMax ? ", …" : "");
  return ` Changed meanwhile or too large, and left as they are: ${formatPlants(ids.length)}, ${named}.`;
}
