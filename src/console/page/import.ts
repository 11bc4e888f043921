// The import dialog: a file is chosen or dropped, previewed, and sent in parts, with the progress
// and the rejected lines.

import { fieldNames, isRequired } from "../../core/contract/fields.ts";
import type { Imports } from "../imports.ts";
import { type Answer, apiUrl, errorMessage, get, post, postBytes, RequestError } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { html, untrustedText } from "./format.ts";
import { Component } from "./library.js";
import { labelOf } from "./plant-fields.ts";
import { Choice } from "./text-field.ts";
import { formatBytes, formatCount } from "./units.ts";

type Content = Record<string, string | number | boolean>;

/** `columns` are the indexes of id and of each field, -1 for none, and whether there is a header: "0,1,-1,true". */
type Preview = Answer<Imports["preview"]>;

type ImportStatus = NonNullable<Answer<Imports["status"]>>;

interface State {
  file: File | null;
  preview: Preview | null;
  isPreviewing: boolean;
  replaces: boolean;
  status: ImportStatus | null;
  isRunning: boolean;
  isRetrying: boolean;
  isDropTarget: boolean;
  other: ImportStatus | null;
  error: string;
}

const previewBytes = 64 * 1024;

/** A part of the file in one request: small enough for the limits of proxies. */
const partBytes = 512 * 1024;

/**
 * The server may restart or be busy for a while; a part that is sent again is not imported again.
 */
const retries = 20;
const retryMs = 1_000;

const delimiters = [
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "vertical bar"],
];

const columnNames = ["id", ...fieldNames];

const contentFields = fieldNames.filter((field) => field !== "name");

export class ImportDialog extends Component<
  { file: File | null; onImported: () => void; onClose: () => void },
  State
> {
  override state: State = {
    file: null,
    /** The start of the file as the server reads it. */
    preview: null,
    /** Whether the preview is not that of the settings that are chosen. */
    isPreviewing: false,
    /** Whether plants that differ are replaced, of which a dry run tells first. */
    replaces: false,
    status: null,
    isRunning: false,
    /** Whether the last request had no response, and is sent again. */
    isRetrying: false,
    isDropTarget: false,
    /** An import of another page that is running. */
    other: null,
    error: "",
  };
  isCancelled = false;
  previews = 0;
  /** The import of this page that is running. */
  id = "";

  override componentDidMount() {
    addEventListener("pagehide", this.leave);
    if (this.props.file !== null) void this.choose(this.props.file);
  }

  override componentWillUnmount() {
    removeEventListener("pagehide", this.leave);
    this.isCancelled = true;
  }

  /** Stops the import when the page is closed: nobody else sends its file. */
  leave = () => {
    if (this.state.isRunning) void post("import/cancel", { import: this.id }, { keepalive: true });
  };

  /**
   * Previews a file.
   *
   * @param chosen Settings; the server guesses the others.
   */
  async choose(file: File, chosen: Record<string, string> = {}) {
    const number = ++this.previews;
    this.setState({ isPreviewing: true });
    try {
      const start = await file
        .slice(0, previewBytes)
        .arrayBuffer()
        .catch(() => {
          throw new Error("The browser cannot read this file.");
        });
      const parameters = { name: file.name, size: String(file.size), ...chosen };
      const preview: Preview = await postBytes("import/preview", parameters, new Blob([start]));
      // The operator may have chosen again.
      if (number === this.previews)
        this.setState({ file, preview, isPreviewing: false, status: null, error: "" });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  async start(update: "off" | "dry-run" | "replace" = this.state.replaces ? "dry-run" : "off") {
    const { file, preview } = this.state;
    if (file === null || preview === null) return;
    const { format, delimiter, columns } = preview;
    this.isCancelled = false;
    this.setState({ isRunning: true, error: "", status: null, other: null });
    try {
      const started = await post<{ import: string }>("import", { format, delimiter, update, columns });
      this.id = started.import;
      await this.send(file, this.id);
      if (update !== "dry-run") this.props.onImported();
    } catch (error) {
      const isOther = error instanceof RequestError && error.status === 409;
      this.setState({ error: errorMessage(error), other: isOther ? await get("import") : null });
    }
    this.setState({ isRunning: false, isRetrying: false });
  }

  /** Stops the import of another page, such as one whose tab has crashed, and starts this one. */
  async replace(other: ImportStatus) {
    try {
      await post("import/cancel", { import: other.import });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
      return;
    }
    await this.start();
  }

  async send(file: File, id: string) {
    for (let offset = 0; offset < file.size; offset += partBytes) {
      if (this.isCancelled) break;
      const part = file.slice(offset, offset + partBytes);
      const status = await this.withRetries(() =>
        postBytes("import/part", { import: id, offset: String(offset) }, part),
      );
      this.setState({ status });
      if (status.ending !== null) return;
    }
    this.setState({
      status: await this.withRetries(() =>
        this.isCancelled
          ? post("import/cancel", { import: id })
          : post("import/end", { import: id, bytes: String(file.size) }),
      ),
    });
  }

  /** Repeats a call that the server could not be reached for, or that it was too busy for. */
  async withRetries(call: () => Promise<ImportStatus>) {
    for (let attempt = 1; ; attempt++) {
      try {
        const status = await call();
        this.setState({ isRetrying: false });
        return status;
      } catch (error) {
        const isTransient =
          error instanceof RequestError &&
          (error.status === 0 || error.status === 503 || error.status === 408);
        if (!isTransient || attempt === retries) throw error;
        this.setState({ isRetrying: true });
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  override render() {
    const { file, preview, status, isRunning, other, error } = this.state;
    const isOver = status !== null && status.ending !== null;
    return html`
      <${Dialog} title="Import plants" isWide isPinned=${isRunning} onClose=${this.props.onClose}>
        ${file === null || preview === null ? this.dropZone() : isOver ? this.result(status, file) : isRunning ? this.progress(file) : this.preview(file, preview)}
        <${ErrorMessage} text=${error} />
        ${other !== null && html`<p><button type="button" onClick=${() => this.replace(other)}>Stop that import (${countsText(other)}), and start this one</button></p>`}
      <//>
    `;
  }

  dropZone() {
    const { isDropTarget } = this.state;
    const onDrag = (isTarget: boolean) => (event: DragEvent) => {
      event.preventDefault();
      this.setState({ isDropTarget: isTarget });
    };
    return html`
      <label
        class=${`drop ${isDropTarget ? "target" : ""}`}
        onDragOver=${onDrag(true)}
        onDragLeave=${onDrag(false)}
        onDrop=${(event: DragEvent) => {
          onDrag(false)(event);
          const [dropped] = event.dataTransfer?.files ?? [];
          if (dropped !== undefined) void this.choose(dropped);
        }}
      >
        <b>Drop a CSV or NDJSON file here</b>
        <span class="faint">or choose one</span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv"
          autofocus
          onChange=${(event: Event & { currentTarget: HTMLInputElement }) => {
            const [chosen] = event.currentTarget.files ?? [];
            if (chosen !== undefined) void this.choose(chosen);
          }}
        />
      </label>
      <p class="note">
        CSV has a column for the id and one for the name. Each line of NDJSON is a request body: ${" "}
        <code>{"id": 42, "name": "Monstera", "tag": "tropical"}</code>. Plants that are already stored stay unchanged, so a
        file can be imported again.
      </p>
    `;
  }

  preview(file: File, { isUtf8, format, delimiter, columns, header, records }: Preview) {
    const { replaces, isPreviewing } = this.state;
    const indexes = columns.split(",");
    const hasHeader = indexes.pop() === "true";
    const labels = header.map((cell, index) => (hasHeader ? cell : "") || `column ${index + 1}`);
    const required = indexes.filter((_, at) => !isOptional(columnNames[at] ?? ""));
    const isComplete =
      format === "ndjson" ||
      (new Set(required).size === required.length &&
        required.every((index) => Number(index) < labels.length));
    const chooseColumns = (chosen: string[], isHeader = hasHeader) =>
      this.choose(file, { format, delimiter, columns: [...chosen, isHeader].join() });
    return html`
      <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(file.size)}</span>
        <button type="button" class="link" onClick=${() => this.setState({ file: null })}>Choose another</button>
      </p>
      ${!isUtf8 && html`<p class="error" role="alert">This file is not UTF-8. Save it as “CSV UTF-8” in your spreadsheet, and choose it again.</p>`}
      <div class="options">
        <${Choice}
          label="Format"
          value=${format}
          options=${[["csv", "CSV"], ["ndjson", "NDJSON"]]}
          onText=${(value: string) => this.choose(file, { format: value })}
        />
        ${
          format === "csv" &&
          html`
            <${Choice}
              label="Delimiter"
              value=${delimiter}
              options=${delimiters}
              onText=${(value: string) => this.choose(file, { format, delimiter: value })}
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
      <${PlantPreview} records=${records} />
      <label class="check">
        <input type="checkbox" checked=${replaces} onChange=${() => this.setState({ replaces: !replaces })} /> Replace plants that differ, after a dry run
      </label>
      <div class="actions">
        <button type="button" onClick=${this.props.onClose}>Cancel</button>
        <button type="button" class="main" disabled=${!isComplete || !isUtf8 || isPreviewing} onClick=${() => this.start()}>${replaces ? "Dry run" : "Import"}</button>
      </div>
    `;
  }

  progress(file: File) {
    const { status, isRetrying } = this.state;
    const bytes = status?.bytes ?? 0;
    return html`
      <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(bytes)} of ${formatBytes(file.size)}</span></p>
      <progress aria-label="Import" value=${bytes} max=${Math.max(1, file.size)}></progress>
      <p role="status">${isRetrying ? "The server does not respond; trying again." : status === null ? "Starting…" : countsText(status)}</p>
      <div class="actions">
        <button
          type="button"
          onClick=${() => {
            this.isCancelled = true;
          }}
        >
          Stop the import
        </button>
      </div>
    `;
  }

  result(status: ImportStatus, file: File) {
    const { ending, message, rejected, rejections, reported, replaced, run } = status;
    const isDryRun = status.update === "dry-run";
    const what = isDryRun ? "Dry run" : "Import";
    const titles = { complete: `${what} complete`, cancelled: `${what} stopped`, failed: `${what} failed` };
    const canReplace = isDryRun && ending === "complete";
    return html`
      <div class=${`response ${ending === "complete" ? "ok" : ""}`} role="status">
        <p><b>${titles[ending as keyof typeof titles]}: ${untrustedText(file.name)}</b></p>
        <p>${countsText(status)}</p>
        ${message !== null && html`<p>${untrustedText(message)}</p>`}
        ${run !== null && replaced > 0 && html`<p>“plantstore history --undo ${run}” brings the replaced plants back.</p>`}
        ${ending !== "complete" && !isDryRun && html`<p class="faint">What was created is stored. Import the file again to continue.</p>`}
      </div>
      <${Differences} ...${status} />
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
      <div class="actions">
        ${rejected > 0 && html`<a class="button" download href=${apiUrl("import/rejected", { import: status.import })}>Download the rejected lines</a>`}
        <button type="button" onClick=${() => this.setState({ file: null, status: null })}>Import another file</button>
        ${
          canReplace
            ? html`
                <button type="button" onClick=${this.props.onClose}>Cancel</button>
                <button type="button" class="main" autofocus onClick=${() => this.start("replace")}>Import, and replace ${formatCount(replaced, "plant")}</button>
              `
            : html`<button type="button" class="main" autofocus onClick=${this.props.onClose}>Done</button>`
        }
      </div>
    `;
  }
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
        <thead><tr><th scope="col" class="number">Id</th><th scope="col">Name</th>${contentFields.map((field) => html`<th scope="col" class="tag">${labelOf(field)}</th>`)}</tr></thead>
        <tbody>
          ${records.map((record) => {
            // A record that would be rejected is shown as it is.
            const plant = "plant" in record ? record.plant : ({ name: record.text } as Content);
            const title = "plant" in record ? record.plant.name : plainReason(record.reason);
            return html`
              <tr>
                <td class="number id">${plant.id}</td>
                <td class="text main"><span title=${title}>${untrustedText(String(plant.name))}</span></td>
                ${contentFields.map((field) => html`<td class="text tag">${chip(plant[field])}</td>`)}
              </tr>
            `;
          })}
        </tbody>
      </table>
    </div>
  `;
}

/** The first plants that an import replaces, before and after. */
function Differences({ differences, replaced, update }: ImportStatus) {
  if (differences.length === 0) return null;
  const shown = (plant: Content) =>
    html`${untrustedText(String(plant.name))} ${contentFields.map((field) => chip(plant[field]))}`;
  return html`
    <h3>${update === "dry-run" ? "To be replaced" : "Replaced"}${replaced > differences.length ? `, the first ${differences.length}` : ""}</h3>
    <ul class="rows" aria-label="Differences">
      ${differences.map(({ line, id, before, after }) => html`<li><div class="grow">${shown(before)} → ${shown(after)}<small>Plant ${id}, line ${line.toLocaleString("en-US")}</small></div></li>`)}
    </ul>
  `;
}

function countsText({ created, unchanged, replaced, rejected, update }: ImportStatus) {
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
