// The inputs of a plant's fields.

import { html } from "./markup.ts";
import { type Draft, labelOf } from "./plant-draft.ts";
import { contract } from "./shown-contract.ts";
import { Choice, TextField } from "./text-field.ts";

/**
 * An input for each field, by its type. An empty text of an optional one means that it is absent.
 */
export function FieldInputs({
  draft,
  isMultiline = false,
  onDraft,
}: {
  draft: Draft;
  isMultiline?: boolean;
  onDraft: (draft: Draft) => void;
}) {
  return contract.fields.map(({ name, input, isRequired: required, hint }, index) => {
    const shared = {
      label: labelOf(name),
      // A name of the contract could hide a property of the form.
      name: `field-${index}`,
      value: draft[index] ?? "",
      onText: (text: string) => onDraft(draft.with(index, text)),
    };
    if (input === "text")
      return html`<${TextField} dir="auto" isOptional=${!required} isMultiline=${isMultiline} hint=${hint} ...${isMultiline && { rows: 2, spellcheck: false }} ...${shared} />`;
    if (input === "json")
      return html`<${TextField} class="mono" isOptional=${!required} isMultiline rows=${2} spellcheck=${false} hint=${hint} ...${shared} />`;
    // Not of the type "number", in which browsers round.
    if (input === "number")
      return html`<${TextField} inputmode="decimal" isOptional=${!required} required=${required} hint=${hint} ...${shared} />`;
    const values = input === "boolean" ? ["true", "false"] : input.filter((value) => value !== "");
    return html`<${Choice}
      required=${required && values.length === input.length}
      options=${["", ...values].map((value) => [value, value || (required ? "" : "none")])}
      ...${shared}
    />`;
  });
}
