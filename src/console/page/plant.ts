// The dialog of one plant: all of its fields, when and by whom it was created, and its change or
// deletion.

import { toExactJson } from "../../core/contract/exact-json.ts";
import { type FieldName, fieldNames, isRequired, typeOf } from "../../core/contract/fields.ts";
import { get, post, RequestError } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { formatCount, formatDate, html, onSubmit, untrustedText } from "./format.ts";
import { History } from "./history.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { FieldInput, labelOf, type Value } from "./plant-fields.ts";

type Fields = { id: string } & Readonly<Record<string, Value>>;

type Plant = Fields & { createdAt: string | null; token: string | null };

/** The text of each field as typed; null for one that the plant is not to have. */
type Draft = Readonly<Record<string, string | null>>;

type Mode = "shown" | "edited" | "confirmed" | "deleted";

/** Characters of a text that the dialog shows; the export has all. */
const shownCharactersMax = 100_000;

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
  const [draft, setDraft] = useState<Draft>({});
  const { isBusy, setError, call, ...last } = useCall();
  const error = last.error === "" ? loaded.error : last.error;
  const show = (next: Mode) => () => {
    setMode(next);
    setError("");
  };
  const titles = {
    shown: `Plant ${id}`,
    edited: `Edit plant ${id}`,
    confirmed: `Change plant ${id}?`,
    deleted: `Delete plant ${id}?`,
  };
  return html`
    <${Dialog} title=${titles[mode]} isWide onClose=${onClose}>
      ${!isLoaded && html`<p class="note" role="status">Loading…</p>`}
      ${isLoaded && plant === null && error === "" && html`<p class="empty">No plant has the id ${id}.</p>`}
      ${isLoaded && plant === null && html`<${ErrorMessage} text=${error} />`}
      ${plant !== null && body(plant)}
      ${
        isLoaded &&
        mode === "shown" &&
        html`<${History}
          id=${id}
          plant=${plant}
          onUndone=${() => {
            onEdited();
            void loaded.reload();
          }}
        />`
      }
    <//>
  `;

  function body(stored: Plant) {
    const fields = fieldsOf(stored);
    const replacement = replacementOf(stored, draft);
    switch (mode) {
      case "shown":
        return html`
          ${texts(fields)}
          <dl>
            ${stored.createdAt !== null && html`<dt>Created</dt><dd>${formatDate(stored.createdAt)}${stored.token === null ? "" : html` with the token ${untrustedText(stored.token)}`}</dd>`}
          </dl>
          <${ErrorMessage} text=${error} />
          <div class="actions">
            <button type="button" class="danger" onClick=${show("deleted")}>Delete</button>
            <button
              type="button"
              onClick=${() => {
                setDraft(draftOf(stored));
                show("edited")();
              }}
            >
              Edit
            </button>
          </div>
        `;
      case "edited": {
        const isUnchanged = fieldNames.every((field) =>
          isSame(field, replacement[field] ?? null, stored[field] ?? null),
        );
        return html`
          <form onSubmit=${onSubmit(() => !isUnchanged && show("confirmed")())}>
            ${fieldNames.map((field) => html`<${DraftInput} field=${field} text=${draft[field] ?? null} stored=${draftOf(stored)[field] ?? ""} onChange=${(text: string | null) => setDraft((all) => ({ ...all, [field]: text }))} />`)}
            <${ErrorMessage} text=${error} />
            <div class="actions">
              <button type="button" onClick=${show("shown")}>Cancel</button>
              <button class="main" disabled=${isUnchanged}>Continue</button>
            </div>
          </form>
        `;
      }
      case "confirmed":
        return html`
          <h3>Now</h3>
          ${texts(fields)}
          <h3>After the change</h3>
          ${texts(replacement)}
          <p class="note">If a client sends this id again, its plant is compared with the changed one. The change can be undone.</p>
          <${ErrorMessage} text=${error} />
          <div class="actions">
            <button type="button" onClick=${show("edited")}>Back</button>
            <button type="button" class="main" disabled=${isBusy} onClick=${() => send(fields, replacement)}>Change the plant</button>
          </div>
        `;
      case "deleted":
        return html`
          ${texts(fields)}
          <p class="note">A client that sends this id again creates the plant again. The deletion can be undone from its history.</p>
          <${ErrorMessage} text=${error} />
          <div class="actions">
            <button type="button" onClick=${show("shown")}>Cancel</button>
            <button type="button" class="danger" disabled=${isBusy} onClick=${() => send(fields, null)}>Delete the plant</button>
          </div>
        `;
    }
  }

  /**
   * Sends a change, or a deletion, with what this dialog shows: the server makes it only if that is
   * still stored.
   */
  function send(expected: Fields, replacement: Fields | null) {
    const isEdit = replacement !== null;
    const path = isEdit ? "plant/change" : "plant/delete";
    const bodies = { expected: bodyOf(expected), ...(isEdit && { replacement: bodyOf(replacement) }) };
    return call(async () => {
      try {
        await post(path, bodies);
      } catch (failure) {
        const status = failure instanceof RequestError ? failure.status : 0;
        const isStale = status === 409 || status === 404;
        // It has changed: the next attempt is compared with what is stored now. What was typed stays.
        if (isStale && (status === 409 || !isEdit)) await loaded.reload();
        if (isEdit) setMode("edited");
        else if (isStale) setMode("shown");
        throw failure;
      }
      onEdited();
      setMode("shown");
      await loaded.reload();
    });
  }
}

function isSame(field: FieldName, one: Value, other: Value) {
  return one === null || other === null ? one === other : typeOf(field).equals(one, other);
}

function draftOf(plant: Plant): Draft {
  const entries = fieldNames.map((field) => {
    const value = plant[field] ?? null;
    return [field, value === null ? null : toLineFeeds(typeOf(field).format(value))];
  });
  return Object.fromEntries(entries);
}

function replacementOf(plant: Plant, draft: Draft): Fields {
  const values = fieldNames.map((field) => {
    const text = draft[field] ?? null;
    if (text === null) return [field, null];
    const stored = plant[field];
    const typed = typeof stored === "string" ? restoreLineEnds(text, stored) : text;
    // The server rejects a text that is not of the type, and says what is expected.
    return [field, typeOf(field).parse(typed) ?? typed];
  });
  return { id: plant.id, ...Object.fromEntries(values) };
}

function DraftInput({
  field,
  text,
  stored,
  onChange,
}: {
  field: FieldName;
  text: string | null;
  stored: string;
  onChange: (text: string | null) => void;
}) {
  const label = labelOf(field).toLowerCase();
  return html`
    ${
      !isRequired(field) &&
      html`<label class="check">
        <input type="checkbox" name=${`has-${field}`} checked=${text !== null} onChange=${() => onChange(text === null ? stored : null)} />
        It has ${/^[aeiou]/.test(label) ? "an" : "a"} ${label}
      </label>`
    }
    ${text !== null && html`<${FieldInput} field=${field} value=${text} isMultiline onText=${onChange} />`}
  `;
}

/** The plant without its creation. */
function fieldsOf({ createdAt: _at, token: _token, ...fields }: Plant): Fields {
  return fields;
}

/** A text as a textarea has it, whose line ends are all line feeds. */
function toLineFeeds(text: string) {
  return text.replace(/\r\n?/g, "\n");
}

/**
 * The text of a textarea with the line ends of the stored text, by their position: a client's
 * repeat compares them.
 */
function restoreLineEnds(text: string, stored: string) {
  const ends = stored.match(/\r\n?|\n/g) ?? [];
  let line = 0;
  return text.replace(/\n/g, () => ends[line++] ?? ends.at(-1) ?? "\n");
}

function texts({ id: _, ...fields }: Fields) {
  return html`
    <dl>
      ${Object.entries(fields).map(
        ([field, value]) => html`
          <dt>${labelOf(field)} <span class="faint">${typeof value === "string" ? formatLength(value) : ""}</span></dt>
          <dd class="full-text" tabindex="0" dir="auto">${value === null ? html`<span class="faint">none</span>` : untrustedText(String(value).slice(0, shownCharactersMax))}</dd>
        `,
      )}
    </dl>
  `;
}

/** The plant as a body of POST /plants. */
function bodyOf({ id, ...fields }: Fields) {
  const present = Object.entries(fields).filter(([, value]) => value !== null);
  return toExactJson({ id: BigInt(id), ...Object.fromEntries(present) });
}

function formatLength(text: string) {
  const truncated =
    text.length > shownCharactersMax
      ? `, the first ${shownCharactersMax.toLocaleString("en-US")} are shown`
      : "";
  return `${formatCount(Array.from(text).length, "character")}${truncated}`;
}
