// Shows the inputs of a plant's fields.

import type { ComponentChildren } from "./library.js";
import { html } from "./markup.ts";
import { type Draft, labelOf } from "./plant-draft.ts";
import { collection } from "./shown-contract.ts";
import { Choice, TextField } from "./text-field.ts";

/**
 * An input for each field, by its type. An empty text of an optional one means that it is absent.
 *
 * `notes`: shown in place of the hints, in the order of the fields. `autofocus`: that of the first.
 */
export function FieldInputs({
  draft,
  notes = [],
  isMultiline = false,
  autofocus = false,
  onDraft,
}: {
  draft: Draft;
  notes?: readonly ComponentChildren[];
  isMultiline?: boolean;
  autofocus?: boolean;
  onDraft: (draft: Draft) => void;
}) {
  const lines = { isMultiline: true, rows: 2, spellcheck: false };
  return collection.fields.map((field, index) => {
    const { name, input, isRequired: required, hint, isDate } = field;
    const shared = {
      label: labelOf(name),
      // A name of the contract could hide a property of the form.
      name: `field-${index}`,
      value: draft[index] ?? "",
      autofocus: autofocus && index === 0,
      hint: notes[index] ?? hint,
      onText: (text: string) => onDraft(draft.with(index, text)),
    };
    if (input === "boolean" || typeof input === "object") {
      const choices = input === "boolean" ? ["true", "false"] : input;
      const values = choices.filter((value) => value !== "");
      const absent = field.default === "" ? "none" : `${field.default} (default)`;
      const emptyText = required ? "" : absent;
      return html`<${Choice}
        required=${required && values.length === choices.length}
        options=${["", ...values].map((value) => [value, value || emptyText])}
        ...${shared}
      />`;
    }
    const attributes = {
      text: isDate ? { type: "date" } : { dir: "auto", ...(isMultiline && lines) },
      json: { class: "mono", ...lines },
      // Not type="number": browsers round its values.
      number: { inputmode: "decimal", required },
    };
    return html`<${TextField} isOptional=${!required} placeholder=${field.default} ...${attributes[input]} ...${shared} />`;
  });
}
