// The bar of the selected plants: all that a search finds, and their deletion or the change of
// their group in one run.

import { groupField } from "../../core/contract/fields.ts";
import type { editPlants, findIds } from "../bulk-edits.ts";
import { type Answer, get, post } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { formatCount, html, untrustedText } from "./format.ts";
import { undo } from "./history.ts";
import { useCall } from "./hooks.ts";
import { useState } from "./library.js";
import { groupLabel, labelOf } from "./plant-fields.ts";
import { parseQuery } from "./query.ts";
import { TextField } from "./text-field.ts";

type Change = "delete" | "group";

/** `query` is the search that is shown. */
export function Selection({
  ids,
  query,
  onSelect,
  onEdited,
}: {
  ids: Set<string>;
  query: string;
  onSelect: (ids: Set<string>) => void;
  onEdited: () => void;
}) {
  const [change, setChange] = useState<Change | null>(null);
  const [group, setGroup] = useState("");
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
      const parameters = new URLSearchParams(parseQuery(query).parameters);
      const found: Answer<typeof findIds> = await get(`plants/ids?${parameters}`);
      onSelect(new Set(found.ids));
      if (!found.isComplete)
        setNote(`These are the first ${formatCount(found.ids.length, "plant")} that were found.`);
    });
  };
  const edit = async (chosen: Change) => {
    const { edited, unchanged, left, ...result }: Answer<typeof editPlants> = await post("plants/edit", {
      ids: [...ids].join(" "),
      change: chosen === "group" && group === "" ? "ungroup" : chosen,
      group,
    });
    const parts = [
      `${formatCount(edited, "plant")} ${chosen === "delete" ? "deleted" : "changed"}`,
      ...(unchanged > 0 ? [`${formatCount(unchanged, "plant")} left as they were`] : []),
      ...(left > 0 ? [`${formatCount(left, "plant")} changed since and left as they are`] : []),
    ];
    setNote(`${parts.join(", ")}, in the run ${result.run}.`);
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
    setChange(asked);
  };

  const count = formatCount(ids.size, "plant");
  return html`
    ${
      ids.size > 0 &&
      html`
        <div class="inline" role="group" aria-label="Selected plants">
          <b role="status">${count} selected</b>
          <button type="button" class="quiet" disabled=${isBusy} onClick=${selectAll}>Select all found</button>
          <button type="button" class="quiet" onClick=${() => onSelect(new Set())}>Select none</button>
          ${groupField !== undefined && html`<button type="button" disabled=${isBusy} onClick=${ask("group")}>Set the ${groupLabel}</button>`}
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
          title=${change === "delete" ? `Delete ${count}?` : `Set the ${groupLabel} of ${count}?`}
          action=${change === "delete" ? `Delete ${count}` : `Change ${count}`}
          onConfirm=${() => edit(change)}
          onClose=${() => setChange(null)}
        >
          ${
            change === "group" &&
            html`<${TextField} label=${labelOf(groupLabel)} name=${groupField} dir="auto" hint=${`Empty to remove the ${groupLabel}`} value=${group} onText=${setGroup} />`
          }
          <p class="note">
            ${change === "delete" ? "A client that sends one of these ids again creates the plant again." : group === "" ? `The ${groupLabel} of each is removed.` : html`All of them get the ${groupLabel} ${untrustedText(group)}.`}
            ${" "}It is one run of the history, and can be undone.
          </p>
        <//>
      `
    }
  `;
}
