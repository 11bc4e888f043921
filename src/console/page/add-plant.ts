// Shows the form that adds plants, one after the other.

import { capitalized, withArticle } from "../../contract/words.ts";
import { parseInt64 } from "../../json/int64.ts";
import type { PlantChanges } from "../calls/plant-changes.ts";
import { type Answer, post } from "./api.ts";
import { ActionDialog } from "./dialogs.ts";
import { useRef, useState } from "./library.js";
import { html } from "./markup.ts";
import { bodyOf, type Draft, draftOf } from "./plant-draft.ts";
import { FieldInputs } from "./plant-form.ts";
import { collection } from "./shown-contract.ts";
import { TextField } from "./text-field.ts";

export function AddPlant({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const [typedId, setTypedId] = useState("");
  const [draft, setDraft] = useState<Draft>(draftOf());
  const newest = useRef({ typedId, draft });
  newest.current = { typedId, draft };
  const [stored, setStored] = useState("");
  const [idError, setIdError] = useState("");

  const { isMade } = collection.id;

  const submit = async (form: HTMLFormElement) => {
    const focus = () => form.querySelector<HTMLElement>("[autofocus]")?.focus();
    const id = collection.id.isText ? typedId : parseInt64(typedId.trim());
    setStored("");
    // The server checks a text.
    if (id === undefined && !isMade) {
      setIdError("An id is a whole number from -9223372036854775808 to 9223372036854775807.");
      return focus();
    }
    const body = bodyOf(isMade ? undefined : String(id), draft);
    const created = await post<Answer<PlantChanges["create"]>>("plants", { body });
    setStored(created.id);
    onCreated();
    // Text typed since the request belongs to the next plant.
    if (newest.current.draft !== draft || newest.current.typedId !== typedId) return;
    setDraft(draftOf());
    setTypedId("");
    focus();
  };
  return html`
    <${ActionDialog} title=${`Add ${withArticle(collection.one)}`} action=${`Add ${collection.one}`} dismissal="Close" onAction=${submit} onClose=${onClose}>
      ${
        !isMade &&
        html`<${TextField}
          label="Id"
          name="id"
          inputmode=${collection.id.isText ? "text" : "numeric"}
          autofocus
          hint=${collection.id.hint}
          value=${typedId}
          error=${idError}
          onText=${(id: string) => {
            setIdError("");
            setTypedId(id);
          }}
        />`
      }
      <${FieldInputs} draft=${draft} autofocus=${isMade} onDraft=${setDraft} />
      <div role="status">${stored !== "" && html`<p class="response ok">${capitalized(collection.one)} ${stored} is stored.</p>`}</div>
    <//>
  `;
}
