// Shows the import dialog: a file is chosen and sent, with the progress and the rejected records.

import { capitalized } from "../../contract/words.ts";
import type { Imports } from "../calls/import-calls.ts";
import { type Answer, download, postFile } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { formatBytes, formatInteger } from "./formats.ts";
import { useCall } from "./hooks.ts";
import { useEffect, useRef, useState } from "./library.js";
import { html, onSubmit, untrustedText } from "./markup.ts";
import { collection, formatPlants } from "./shown-contract.ts";

type ImportReport = Answer<Imports["run"]>;

/** Characters of the rejected records that are shown; the download has more. */
const shownRejectionsMax = 16_384;

const listFormat = new Intl.ListFormat("en-GB");

function columns() {
  const named = (isRequired: boolean) =>
    collection.fields.filter((field) => field.isRequired === isRequired).map(({ name }) => name);
  const { name, isMade } = collection.id;
  const optional = [...(isMade ? [name] : []), ...named(false)];
  const others = optional.length === 0 ? "" : `, and optionally ${optional.join(", ")}`;
  return listFormat.format([...(isMade ? [] : [name]), ...named(true)]) + others;
}

export function ImportDialog({ onImported, onClose }: { onImported: () => void; onClose: () => void }) {
  const [chosen, setChosen] = useState<File | null>(null);
  /** Whether plants that differ are replaced, after a dry run. */
  const [replaces, setReplaces] = useState(false);
  const [report, setReport] = useState<ImportReport | null>(null);
  /** The bytes of the file that the server has received. */
  const [sent, setSent] = useState(0);
  const { isBusy: isRunning, error, call } = useCall();
  /** Aborts the import of this page. */
  const abort = useRef(new AbortController());

  const choose = (file: File) => {
    setChosen(file);
    setReport(null);
  };
  useEffect(() => () => abort.current.abort(), []);

  const start = (file: File, update = replaces ? "dry-run" : "off") =>
    call(async () => {
      abort.current = new AbortController();
      setReport(null);
      setSent(0);
      const settings = { format: formatOf(file), update, name: file.name };
      setReport(await postFile<ImportReport>("import", settings, file, setSent, abort.current.signal));
      if (update !== "dry-run") onImported();
    });

  return html`
    <${Dialog} title=${`Import ${collection.many}`} isWide isPinned=${isRunning} onClose=${onClose}>
      ${chosen === null ? html`<${FileField} onChoose=${choose} />` : content(chosen)}
      <${ErrorMessage} text=${error} />
    <//>
  `;

  function content(file: File) {
    if (report !== null)
      return html`
        <${Result} ...${report} file=${file} />
        <div class="actions">
          ${report.rejected > 0 && html`<button type="button" onClick=${() => downloadRejected(report)}>Download the rejected records</button>`}
          <button type="button" onClick=${() => setChosen(null)}>Import another file</button>
          ${
            report.update === "dry-run" && report.message === null
              ? html`
                  <button type="button" onClick=${onClose}>Cancel</button>
                  <button type="button" class="main" autofocus onClick=${() => start(file, "replace")}>Import, and replace ${formatPlants(report.replaced)}</button>
                `
              : html`<button type="button" class="main" autofocus onClick=${onClose}>Done</button>`
          }
        </div>
      `;
    if (isRunning)
      return html`
        <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(sent)} of ${formatBytes(file.size)}</span>
          <button type="button" class="link" onClick=${() => abort.current.abort()}>Stop the import</button>
        </p>
        <progress aria-label="Import" value=${sent} max=${Math.max(1, file.size)}></progress>
        <p role="status">${sent < file.size ? "Sending and importing…" : "Importing the rest…"}</p>
      `;
    return html`
      <form onSubmit=${onSubmit(() => start(file))}>
        <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(file.size)}</span>
          <button type="button" class="link" onClick=${() => setChosen(null)}>Choose another</button>
        </p>
        <label class="check">
          <input type="checkbox" checked=${replaces} onChange=${() => setReplaces(!replaces)} /> Replace ${collection.many} that differ, after a dry run
        </label>
        <div class="actions">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button class="main" autofocus>${replaces ? "Dry run" : "Import"}</button>
        </div>
      </form>
    `;
  }
}

function formatOf(file: File) {
  return /\.(?:csv|tsv|txt)(?:\.gz)?$/i.test(file.name) ? "csv" : "ndjson";
}

/** Downloads the rejected records, in the format of the report of `plantstore import`. */
function downloadRejected({ report, format }: ImportReport) {
  const url = URL.createObjectURL(new Blob([toBytes(report)]));
  download(url, `rejected.${format}`);
  URL.revokeObjectURL(url);
}

/** The report has each byte as a character: some records are not UTF-8. */
function toBytes(report: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(report, (character) => character.charCodeAt(0));
}

/** A file can also be dropped on the field. */
function FileField({ onChoose }: { onChoose: (file: File) => void }) {
  const choose = ({ currentTarget }: Event & { currentTarget: HTMLInputElement }) => {
    const [file] = currentTarget.files ?? [];
    if (file !== undefined) onChoose(file);
  };
  return html`
    <label>
      <span>Choose a CSV or JSON file, or drop it here</span>
      <input class="drop" type="file" accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl,.gz,text/csv" autofocus onChange=${choose} />
    </label>
    <p class="note">
      The first line of CSV names the columns: ${columns()}. JSON is an array of request bodies, or
      one a line: <code>${collection.sampleBody}</code>. ${capitalized(collection.many)} that are already stored stay
      unchanged, so a file can be imported again.
    </p>
  `;
}

/** How an import has ended, with the lines that were rejected. */
function Result({ file, ...result }: ImportReport & { file: File }) {
  const { message, advice, rejected, report, reported, replaced, run } = result;
  const isDryRun = result.update === "dry-run";
  const what = isDryRun ? "Dry run" : "Import";
  return html`
    <div class=${`response ${message === null ? "ok" : ""}`} role="status">
      <p><b>${what} ${message === null ? "complete" : "failed"}: ${untrustedText(file.name)}</b></p>
      <p>${countsText(result)}${result.ignored.length > 0 && html`; ignored columns: ${untrustedText(result.ignored)}`}</p>
      ${message !== null && html`<p>${untrustedText(message)}</p>`}
      ${advice !== null && html`<p>${capitalized(advice)}.</p>`}
      ${run !== null && replaced > 0 && html`<p>“plantstore history --undo ${run}” brings the replaced ${collection.many} back.</p>`}
      ${message !== null && !isDryRun && html`<p class="faint">What was created is stored. Import the file again to continue.</p>`}
    </div>
    <${Differences} ...${result} />
    ${
      rejected > 0 &&
      html`
        <h3>Rejected records</h3>
        <pre tabindex="0" role="region" aria-label="Rejected records">${untrustedText(new TextDecoder().decode(toBytes(report.slice(0, shownRejectionsMax))))}</pre>
        ${reported < rejected && html`<p class="note">The download has the first ${formatInteger(reported)}; correct those, and import the file again for the others.</p>`}
      `
    }
  `;
}

function chip(value: string | null) {
  if (value === null) return null;
  return html`<span title=${value}><span class="chip">${untrustedText(value)}</span></span>`;
}

/** The first plants that an import replaces, before and after. */
function Differences({ differences, replaced, update }: ImportReport) {
  if (differences.length === 0) return null;
  const shown = (texts: readonly (string | null)[]) =>
    html`${collection.title >= 0 && untrustedText(texts[collection.title] ?? "")} ${texts.filter((_, index) => index !== collection.title).map(chip)}`;
  return html`
    <h3>${update === "dry-run" ? "To be replaced" : "Replaced"}${replaced > differences.length ? `, the first ${differences.length}` : ""}</h3>
    <ul class="rows" aria-label="Differences">
      ${differences.map(({ line, id, before, after }) => html`<li><div class="grow">${shown(before)} → ${shown(after)}<small>${capitalized(collection.one)} ${id}, line ${formatInteger(line)}</small></div></li>`)}
    </ul>
  `;
}

function countsText({ created, unchanged, replaced, rejected, update }: ImportReport) {
  const toBe = update === "dry-run" ? "to be " : "";
  return [
    `${formatInteger(created)} ${toBe}created`,
    `${formatInteger(unchanged)} already stored`,
    ...(replaced > 0 ? [`${formatInteger(replaced)} ${toBe}replaced`] : []),
    `${formatInteger(rejected)} rejected`,
  ].join(", ");
}
