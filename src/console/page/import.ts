// The import dialog: a file is chosen or dropped, previewed, and sent, with the progress and the
// rejected lines.

import { type FieldValue, fieldNames, isRequired, titleField } from "../../core/contract/fields.ts";
import { sampleBody } from "../../core/contract/plant.ts";
import type { previewImport } from "../import-settings.ts";
import type { Imports } from "../imports.ts";
import { type Answer, download, errorMessage, postBytes, postFile } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { formatBytes, formatCount, html, untrustedText } from "./format.ts";
import { useCall, useListener } from "./hooks.ts";
import { useEffect, useRef, useState } from "./library.js";
import { labelOf } from "./plant-fields.ts";
import { Choice } from "./text-field.ts";

type Content = Record<string, FieldValue>;

/** `columns` are the indexes of id and of each field, -1 for none, and whether there is a header: "0,1,-1,true". */
type Preview = Answer<typeof previewImport>;

interface Chosen {
  file: File;
  preview: Preview;
}

type ImportReport = Answer<Imports["run"]>;

const previewBytes = 64 * 1024;

const delimiters = [
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "vertical bar"],
];

const columnNames = ["id", ...fieldNames];
const otherFields = fieldNames.filter((field) => field !== titleField);

export function ImportDialog({
  file: dropped,
  onImported,
  onClose,
}: {
  file: File | undefined;
  onImported: () => void;
  onClose: () => void;
}) {
  /** The file, and its start as the server reads it. */
  const [chosen, setChosen] = useState<Chosen | null>(null);
  /** Whether the preview is not that of the settings that are chosen. */
  const [isPreviewing, setPreviewing] = useState(false);
  /** Whether plants that differ are replaced, of which a dry run tells first. */
  const [replaces, setReplaces] = useState(false);
  const [report, setReport] = useState<ImportReport | null>(null);
  /** The bytes of the file that the server has received. */
  const [sent, setSent] = useState(0);
  const { isBusy: isRunning, error, setError, call } = useCall();
  const previews = useRef(0);
  /** Aborts the import of this page. */
  const abort = useRef(new AbortController());

  /**
   * Previews a file.
   *
   * @param settings those that were chosen; the server guesses the others.
   */
  const choose = async (file: File, settings: Record<string, string> = {}) => {
    const number = ++previews.current;
    setPreviewing(true);
    try {
      const start = await readStart(file);
      const parameters = { name: file.name, size: String(file.size), ...settings };
      const preview: Preview = await postBytes("import/preview", parameters, start);
      // The operator may have chosen again.
      if (number !== previews.current) return;
      setChosen({ file, preview });
      setPreviewing(false);
      setReport(null);
      setError("");
    } catch (failure) {
      setError(errorMessage(failure));
    }
  };
  useEffect(() => {
    if (dropped !== undefined) void choose(dropped);
    return () => abort.current.abort();
  }, []);

  const start = ({ file, preview }: Chosen, update = replaces ? "dry-run" : "off") =>
    call(async () => {
      abort.current = new AbortController();
      setReport(null);
      setSent(0);
      const { format, delimiter, columns } = preview;
      const settings = { format, delimiter, columns, update };
      setReport(await postFile<ImportReport>("import", settings, file, setSent, abort.current.signal));
      if (update !== "dry-run") onImported();
    });

  return html`
    <${Dialog} title="Import plants" isWide isPinned=${isRunning} onClose=${onClose}>
      ${content()}
      <${ErrorMessage} text=${error} />
    <//>
  `;

  function content() {
    if (chosen === null) return html`<${DropZone} onChoose=${choose} />`;
    const { file, preview } = chosen;
    if (report !== null)
      return html`
        <${Result} ...${report} file=${file} />
        <div class="actions">
          ${report.rejected > 0 && html`<button type="button" onClick=${() => downloadRejected(report, preview)}>Download the rejected lines</button>`}
          <button type="button" onClick=${chooseAgain}>Import another file</button>
          ${
            report.update === "dry-run" && report.message === null
              ? html`
                  <button type="button" onClick=${onClose}>Cancel</button>
                  <button type="button" class="main" autofocus onClick=${() => start(chosen, "replace")}>Import, and replace ${formatCount(report.replaced, "plant")}</button>
                `
              : html`<button type="button" class="main" autofocus onClick=${onClose}>Done</button>`
          }
        </div>
      `;
    if (isRunning)
      return html`
        <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(sent)} of ${formatBytes(file.size)}</span></p>
        <progress aria-label="Import" value=${sent} max=${Math.max(1, file.size)}></progress>
        <p role="status">${sent < file.size ? "Sending and importing…" : "Importing the rest…"}</p>
        <div class="actions">
          <button type="button" onClick=${() => abort.current.abort()}>Stop the import</button>
        </div>
      `;
    return html`
      <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(file.size)}</span>
        <button type="button" class="link" onClick=${chooseAgain}>Choose another</button>
      </p>
      ${!preview.isUtf8 && html`<p class="error" role="alert">This file is not UTF-8. Save it as “CSV UTF-8” in your spreadsheet, and choose it again.</p>`}
      <${Settings} ...${preview} onChoose=${(settings: Record<string, string>) => choose(file, settings)} />
      <${PlantPreview} records=${preview.records} />
      <label class="check">
        <input type="checkbox" checked=${replaces} onChange=${() => setReplaces(!replaces)} /> Replace plants that differ, after a dry run
      </label>
      <div class="actions">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="button" class="main" disabled=${!hasColumns(preview) || !preview.isUtf8 || isPreviewing} onClick=${() => start(chosen)}>${replaces ? "Dry run" : "Import"}</button>
      </div>
    `;
  }

  function chooseAgain() {
    setChosen(null);
    setReport(null);
  }
}

/** Rejects for a file that has changed since it was chosen. */
function readStart(file: File) {
  const start = file.slice(0, previewBytes).arrayBuffer();
  return start.catch(() => {
    throw new Error("The browser cannot read this file; choose it again.");
  });
}

/** Downloads the rejected lines, in the format of the report of `plantstore import`. */
function downloadRejected({ report }: ImportReport, { format }: Preview) {
  const url = URL.createObjectURL(new Blob([report]));
  download(url, `rejected.${format}`);
  URL.revokeObjectURL(url);
}

function DropZone({ onChoose }: { onChoose: (file: File) => void }) {
  const choose = (files: FileList | null | undefined) => {
    const [file] = files ?? [];
    if (file !== undefined) onChoose(file);
  };
  useListener<DragEvent>(document, "drop", ({ dataTransfer }) => choose(dataTransfer?.files));
  return html`
    <label class="drop">
      <b>Drop a CSV or NDJSON file here</b>
      <span class="faint">or choose one</span>
      <input
        type="file"
        accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv"
        autofocus
        onChange=${(event: Event & { currentTarget: HTMLInputElement }) => choose(event.currentTarget.files)}
      />
    </label>
    <p class="note">
      CSV has a column for the id and one for the name. Each line of NDJSON is a request body: ${" "}
      <code>${sampleBody(42n)}</code>. Plants that are already stored stay unchanged, so a
      file can be imported again.
    </p>
  `;
}

/** The settings of the preview, and the labels of the file's columns. */
function settingsOf({ columns, header }: Preview) {
  const indexes = columns.split(",");
  const hasHeader = indexes.pop() === "true";
  const labels = header.map((cell, index) => (hasHeader ? cell : "") || `column ${index + 1}`);
  return { indexes, hasHeader, labels };
}

/** Whether every field that a plant must have has a column of its own. */
function hasColumns(preview: Preview) {
  if (preview.format === "ndjson") return true;
  const { indexes, labels } = settingsOf(preview);
  const required = indexes.filter((_, at) => !isOptional(columnNames[at] ?? ""));
  return (
    new Set(required).size === required.length && required.every((index) => Number(index) < labels.length)
  );
}

function Settings({
  onChoose,
  ...preview
}: Preview & { onChoose: (settings: Record<string, string>) => void }) {
  const { format, delimiter } = preview;
  const { indexes, hasHeader, labels } = settingsOf(preview);
  const chooseColumns = (chosen: string[], isHeader = hasHeader) =>
    onChoose({ format, delimiter, columns: [...chosen, isHeader].join() });
  return html`
    <div class="options">
      <${Choice}
        label="Format"
        value=${format}
        options=${[["csv", "CSV"], ["ndjson", "NDJSON"]]}
        onText=${(value: string) => onChoose({ format: value })}
      />
      ${
        format === "csv" &&
        html`
          <${Choice}
            label="Delimiter"
            value=${delimiter}
            options=${delimiters}
            onText=${(value: string) => onChoose({ format, delimiter: value })}
          />
          ${columnNames.map(
            (name, at) => html`
              <${Choice}
                label=${`${labelOf(name)} column`}
                value=${indexes[at]}
                options=${[
                  ...(isOptional(name) ? [["-1", "none"]] : []),
                  ...labels.map((label, index) => [String(index), label.slice(0, 40)]),
                ]}
                onText=${(value: string) => chooseColumns(indexes.with(at, value))}
              />
            `,
          )}
          <label class="check">
            <input type="checkbox" checked=${hasHeader} onChange=${() => chooseColumns(indexes, !hasHeader)} /> The first line names the columns
          </label>
        `
      }
    </div>
  `;
}

/** How an import has ended, with the lines that were rejected. */
function Result({ file, ...report }: ImportReport & { file: File }) {
  const { message, rejected, rejections, reported, replaced, run } = report;
  const isDryRun = report.update === "dry-run";
  const what = isDryRun ? "Dry run" : "Import";
  return html`
    <div class=${`response ${message === null ? "ok" : ""}`} role="status">
      <p><b>${what} ${message === null ? "complete" : "failed"}: ${untrustedText(file.name)}</b></p>
      <p>${countsText(report)}</p>
      ${message !== null && html`<p>${untrustedText(message)}</p>`}
      ${run !== null && replaced > 0 && html`<p>“plantstore history --undo ${run}” brings the replaced plants back.</p>`}
      ${message !== null && !isDryRun && html`<p class="faint">What was created is stored. Import the file again to continue.</p>`}
    </div>
    <${Differences} ...${report} />
    ${
      rejected > 0 &&
      html`
        <h3>Rejected lines</h3>
        <div class="scroll rejections" tabindex="0" role="region" aria-label="Rejected lines">
          <table class="list preview">
            <thead><tr><th scope="col" class="number">Line</th><th scope="col">Reason</th><th scope="col">Text</th></tr></thead>
            <tbody>
              ${rejections.map(
                ({ line, error, message: reason, text }) => html`
                  <tr>
                    <td class="number">${line.toLocaleString("en-US")}</td>
                    <td class="main" title=${`Error ${error}`}>${untrustedText(plainReason(reason))}</td>
                    <td class="text"><span title=${text}>${untrustedText(text)}</span></td>
                  </tr>
                `,
              )}
            </tbody>
          </table>
        </div>
        ${
          rejections.length < rejected &&
          html`<p class="note">The first ${formatCount(rejections.length, "line")} of ${rejected.toLocaleString("en-US")}.${reported < rejected ? ` The download has the first ${reported.toLocaleString("en-US")}; correct those, and import the file again for the others.` : ""}</p>`
        }
      `
    }
  `;
}

function isOptional(column: string) {
  return fieldNames.some((field) => field === column && !isRequired(field));
}

function chip(value: Content[string] | undefined) {
  if (value === undefined) return null;
  return html`<span title=${value}><span class="chip">${untrustedText(String(value))}</span></span>`;
}

function PlantPreview({ records }: { records: Preview["records"] }) {
  if (records.length === 0) return html`<p class="empty">The file has no plants.</p>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Preview">
      <table class="list preview">
        <thead><tr><th scope="col" class="number">Id</th><th scope="col">${labelOf(titleField)}</th>${otherFields.map((field) => html`<th scope="col" class="tag">${labelOf(field)}</th>`)}</tr></thead>
        <tbody>
          ${records.map((record) => {
            // A record that would be rejected is shown as it is.
            const plant = "plant" in record ? record.plant : ({ [titleField]: record.text } as Content);
            const title = "plant" in record ? record.plant[titleField] : plainReason(record.reason);
            return html`
              <tr>
                <td class="number id">${plant.id}</td>
                <td class="text main"><span title=${title}>${untrustedText(String(plant[titleField]))}</span></td>
                ${otherFields.map((field) => html`<td class="text tag">${chip(plant[field])}</td>`)}
              </tr>
            `;
          })}
        </tbody>
      </table>
    </div>
  `;
}

/** The first plants that an import replaces, before and after. */
function Differences({ differences, replaced, update }: ImportReport) {
  if (differences.length === 0) return null;
  const shown = (plant: Content) =>
    html`${untrustedText(String(plant[titleField]))} ${otherFields.map((field) => chip(plant[field]))}`;
  return html`
    <h3>${update === "dry-run" ? "To be replaced" : "Replaced"}${replaced > differences.length ? `, the first ${differences.length}` : ""}</h3>
    <ul class="rows" aria-label="Differences">
      ${differences.map(({ line, id, before, after }) => html`<li><div class="grow">${shown(before)} → ${shown(after)}<small>Plant ${id}, line ${line.toLocaleString("en-US")}</small></div></li>`)}
    </ul>
  `;
}

function countsText({ created, unchanged, replaced, rejected, update }: ImportReport) {
  const counts = [created, unchanged, replaced, rejected].map((count) => count.toLocaleString("en-US"));
  const toBe = update === "dry-run" ? "to be " : "";
  const differing = replaced > 0 ? `${counts[2]} ${toBe}replaced, ` : "";
  return `${counts[0]} ${toBe}created, ${counts[1]} already stored, ${differing}${counts[3]} rejected`;
}

/** Why a line is rejected, without what is said of a request. */
function plainReason(message: string) {
  const reason = message.replace(/^The body is not a NewPlant: /, "");
  return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
}
