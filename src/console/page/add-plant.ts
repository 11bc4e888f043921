// The form that adds plants, one after the other.

import { parseInt64 } from "../../core/contract/int64.ts";
import { post } from "./api.ts";
import { ActionDialog } from "./dialogs.ts";
import { html } from "./format.ts";
import { useRef, useState } from "./library.js";
import { bodyOf, draftOf, FieldInputs } from "./plant-form.ts";
import { TextField } from "./text-field.ts";

const emptyDraft = { id: "", ...draftOf() };

export function AddPlant({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const [draft, setDraft] = useState<Record<string, string>>(emptyDraft);
  const newest = useRef(draft);
  newest.current = draft;
  const [stored, setStored] = useState("");
  const [idError, setIdError] = useState("");

  const submit = async (form: HTMLFormElement) => {
    const focus = () => form.querySelector<HTMLElement>('[name="id"]')?.focus();
    const id = parseInt64(draft.id?.trim() ?? "");
    setStored("");
    if (id === undefined) {
      setIdError("An id is a whole number from -9223372036854775808 to 9223372036854775807.");
      return focus();
    }
    await post("plants", { body: bodyOf(String(id), draft) });
    setStored(String(id));
    onCreated();
    // Text typed since the request belongs to the next plant.
    if (newest.current !== draft) return;
    setDraft(emptyDraft);
    focus();
  };
  return html`
    <${ActionDialog} title="Add a plant" action="Add plant" dismissal="Close" onAction=${submit} onClose=${onClose}>
      <${TextField}
        label="Id"
        name="id"
        inputmode="numeric"
        autofocus
        hint="A whole number, such as 42"
        value=${draft.id}
        error=${idError}
        onText=${(id: string) => {
          setIdError("");
          setDraft({ ...draft, id });
        }}
      />
      <${FieldInputs} draft=${draft} onDraft=${setDraft} />
      <div role="status">${stored !== "" && html`<p class="response ok">Plant ${stored} is stored.</p>`}</div>
    <//>
  `;
}
