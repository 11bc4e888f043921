// Shows the export dialog: the browser downloads all plants or those of the search.

import { capitalized } from "../../contract/words.ts";
import { readAddress } from "./address.ts";
import { apiUrl, download } from "./api.ts";
import { ActionDialog } from "./dialogs.ts";
import type { ComponentChildren } from "./library.js";
import { html, textsOf, untrustedText } from "./markup.ts";
import { parseQuery } from "./query.ts";
import { collection } from "./shown-contract.ts";

export function ExportDialog({ onClose }: { onClose: () => void }) {
  const { query } = readAddress();
  // None for a search that is not understood.
  const { parameters } = parseQuery(query);
  const isSearch = parameters.length > 0;
  const start = async (form: HTMLFormElement) => {
    const { scope, format = "" } = textsOf(form);
    download(apiUrl("export", [["format", format], ...(scope === "search" ? parameters : [])]));
    onClose();
  };
  const choice = (name: string, value: string, label: ComponentChildren, isFirst: boolean) =>
    html`<label><input type="radio" name=${name} value=${value} defaultChecked=${isFirst} autofocus=${value === "all"} /> ${label}</label>`;
  return html`
    <${ActionDialog} title=${`Export ${collection.many}`} action="Export" onAction=${start} onClose=${onClose}>
      <fieldset class="choices">
        <legend>${capitalized(collection.many)}</legend>
        ${choice("scope", "all", `All ${collection.many}`, !isSearch)}
        ${isSearch && choice("scope", "search", html`The search: ${untrustedText(query)}`, true)}
      </fieldset>
      <fieldset class="choices">
        <legend>Format</legend>
        ${choice("format", "csv", "CSV, for spreadsheets", true)}
        ${choice("format", "ndjson", "NDJSON, a request body of the interface in each line", false)}
      </fieldset>
    <//>
  `;
}
