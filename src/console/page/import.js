// The import dialog: a file is chosen or dropped, previewed, and sent in parts, with the progress
// and the rejected lines.

import { apiUrl, errorMessage, get, post, postBytes, RequestError } from "./api.js";
import { parseCsv } from "./csv-preview.js";
import { Dialog, ErrorMessage } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { formatBytes, formatCount } from "./units.js";

/**
 * @typedef {{ id: number, name: number, tag: number }} Columns The index of each; -1 for none.
 * @typedef {{ name: string, tag?: string }} Content
 * @typedef {{ line: number, id: string, before: Content, after: Content }} Difference
 * @typedef {{ import: string, created: number, unchanged: number, replaced: number, rejected: number, ending: string | null,
 *   message: string | null, run: string | null, update: "off" | "dry-run" | "replace", differences: Difference[], bytes: number, reported: number, rejections: { line: number, error: number, message: string, text: string }[] }} ImportStatus
 * @typedef {{ file: File | null, start: string, isUtf8: boolean, format: "csv" | "ndjson", delimiter: string, hasHeader: boolean,
 *   columns: Columns, replaces: boolean, status: ImportStatus | null, isRunning: boolean, isRetrying: boolean, isDropTarget: boolean, other: ImportStatus | null,
 *   error: string }} State
 */

const previewBytes = 64 * 1024;
const previewLines = 10;

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

/** Names of columns in other languages and programs. @type {Record<keyof Columns, RegExp>} */
const columnNames = {
  id: /^(?:id|nr|no|number|nummer|key|#)$/i,
  name: /^(?:name|plant|plant ?name|title|bezeichnung|nom|nombre)$/i,
  tag: /^(?:tags?|category|type|label|group|kategorie)$/i,
};

/** @extends {Component<{ file: File | null, onImported: () => void, onClose: () => void }, State>} */
export class ImportDialog extends Component {
  /** @override @type {State} */
  state = {
    file: null,
    start: "",
    isUtf8: true,
    format: "csv",
    delimiter: ",",
    hasHeader: true,
    columns: { id: 0, name: 1, tag: 2 },
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
  /** The import of this page that is running. */
  id = "";

  /** @override */
  componentDidMount() {
    addEventListener("pagehide", this.leave);
    if (this.props.file !== null) void this.choose(this.props.file);
  }

  /** @override */
  componentWillUnmount() {
    removeEventListener("pagehide", this.leave);
    this.isCancelled = true;
  }

  /** Stops the import when the page is closed: nobody else sends its file. */
  leave = () => {
    if (this.state.isRunning) void post("import/cancel", { import: this.id }, { keepalive: true });
  };

  /** @param {File} file */
  async choose(file) {
    try {
      const bytes = new Uint8Array(await file.slice(0, previewBytes).arrayBuffer());
      const { text, isUtf8 } = decodeStart(bytes, file.size > previewBytes);
      const isNdjson = /\.(?:ndjson|jsonl|json)$/i.test(file.name) || text.trimStart().startsWith("{");
      const delimiter = guessDelimiter(text);
      this.setState({
        file,
        start: text,
        isUtf8,
        format: isNdjson ? "ndjson" : "csv",
        delimiter,
        status: null,
        error: "",
      });
      this.guessColumns(text, delimiter);
    } catch {
      this.setState({ error: "The browser cannot read this file." });
    }
  }

  /**
   * @param {string} text
   * @param {string} delimiter
   */
  guessColumns(text, delimiter) {
    const [header = []] = parseCsv(text, delimiter, 1);
    const find = (/** @type {keyof Columns} */ name) =>
      header.findIndex((cell) => columnNames[name].test((cell ?? "").trim()));
    const found = { id: find("id"), name: find("name"), tag: find("tag") };
    // A first line with a number in it is a plant.
    const hasHeader =
      found.id !== -1 || found.name !== -1 || !header.some((cell) => /^-?\d+$/.test((cell ?? "").trim()));
    const columns = hasHeader
      ? {
          ...found,
          id: found.id === -1 ? 0 : found.id,
          name: found.name === -1 ? Math.min(1, header.length - 1) : found.name,
        }
      : { id: 0, name: 1, tag: header.length > 2 ? 2 : -1 };
    this.setState({ hasHeader, columns });
  }

  /** @param {"off" | "dry-run" | "replace"} update */
  async start(update = this.state.replaces ? "dry-run" : "off") {
    const { file, format, delimiter, columns, hasHeader } = this.state;
    if (file === null) return;
    this.isCancelled = false;
    this.setState({ isRunning: true, error: "", status: null, other: null });
    try {
      const { import: id } = await post("import", {
        format,
        delimiter,
        update,
        columns: [columns.id, columns.name, columns.tag, hasHeader].join(),
      });
      this.id = id;
      await this.send(file, id);
      if (update !== "dry-run") this.props.onImported();
    } catch (error) {
      const isOther = error instanceof RequestError && error.status === 409;
      this.setState({ error: errorMessage(error), other: isOther ? await get("import") : null });
    }
    this.setState({ isRunning: false, isRetrying: false });
  }

  /** Stops the import of another page, such as one whose tab has crashed, and starts this one. @param {ImportStatus} other */
  async replace(other) {
    try {
      await post("import/cancel", { import: other.import });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
      return;
    }
    await this.start();
  }

  /**
   * @param {File} file
   * @param {string} id
   */
  async send(file, id) {
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

  /**
   * Repeats a call that the server could not be reached for, or that it was too busy for.
   *
   * @param {() => Promise<ImportStatus>} call
   */
  async withRetries(call) {
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

  /** @override */
  render() {
    const { file, status, isRunning, other, error } = this.state;
    const isOver = status !== null && status.ending !== null;
    return html`
      <${Dialog} title="Import plants" isWide isPinned=${isRunning} onClose=${this.props.onClose}>
        ${file === null ? this.dropZone() : isOver ? this.result(status, file) : isRunning ? this.progress(file) : this.preview(file)}
        <${ErrorMessage} text=${error} />
        ${other !== null && html`<p><button type="button" onClick=${() => this.replace(other)}>Stop that import (${countsText(other)}), and start this one</button></p>`}
      <//>
    `;
  }

  dropZone() {
    const { isDropTarget } = this.state;
    const onDrag = (/** @type {boolean} */ isTarget) => (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      this.setState({ isDropTarget: isTarget });
    };
    return html`
      <label
        class=${`drop ${isDropTarget ? "target" : ""}`}
        onDragOver=${onDrag(true)}
        onDragLeave=${onDrag(false)}
        onDrop=${(/** @type {DragEvent} */ event) => {
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
          onChange=${(/** @type {Event & { currentTarget: HTMLInputElement }} */ event) => {
            const [chosen] = event.currentTarget.files ?? [];
            if (chosen !== undefined) void this.choose(chosen);
          }}
        />
      </label>
      <p class="note">
        CSV has a column for the id and one for the name. Each line of NDJSON is a request body: ${" "}
        <code>{"id": 42, "name": "Monstera", "tag": "tropical"}</code>. A plant that is stored already is left as it is, so a file
        may be imported again.
      </p>
    `;
  }

  /** @param {File} file */
  preview(file) {
    const { start, isUtf8, format, delimiter, hasHeader, columns, replaces } = this.state;
    const rows = format === "csv" ? parseCsv(start, delimiter, previewLines + 1) : [];
    const [first = []] = rows;
    const width = Math.max(0, ...rows.map((row) => row.length));
    const labels = Array.from(
      { length: width },
      (_, index) => (hasHeader ? (first[index] ?? "") : "") || `column ${index + 1}`,
    );
    const isComplete =
      format === "ndjson" || (columns.id < width && columns.name < width && columns.id !== columns.name);
    const onSelect =
      (/** @type {(value: string) => void} */ change) =>
      (/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
        change(event.currentTarget.value);
    return html`
      <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(file.size)}</span>
        <button type="button" class="link" onClick=${() => this.setState({ file: null })}>Choose another</button>
      </p>
      ${!isUtf8 && html`<p class="error" role="alert">This file is not UTF-8. Save it as “CSV UTF-8” in your spreadsheet, and choose it again.</p>`}
      <div class="options">
        <label><span>Format</span>
          <select value=${format} onChange=${onSelect((value) => this.setState({ format: value === "csv" ? "csv" : "ndjson" }))}>
            <option value="csv">CSV</option><option value="ndjson">NDJSON</option>
          </select>
        </label>
        ${
          format === "csv" &&
          html`
            <label><span>Delimiter</span>
              <select
                value=${delimiter}
                onChange=${onSelect((value) => {
                  this.setState({ delimiter: value });
                  this.guessColumns(start, value);
                })}
              >
                ${delimiters.map(([value, name]) => html`<option value=${value}>${name}</option>`)}
              </select>
            </label>
            ${
              /** @type {(keyof Columns)[]} */ (["id", "name", "tag"]).map(
                (name) => html`
                <label><span>${`${name.slice(0, 1).toUpperCase()}${name.slice(1)} column`}</span>
                  <select
                    value=${String(columns[name])}
                    onChange=${onSelect((value) => this.setState({ columns: { ...columns, [name]: Number(value) } }))}
                  >
                    ${name === "tag" && html`<option value="-1">none</option>`}
                    ${labels.map((label, index) => html`<option value=${String(index)}>${label.slice(0, 40)}</option>`)}
                  </select>
                </label>
              `,
              )
            }
            <label class="check">
              <input type="checkbox" checked=${hasHeader} onChange=${() => this.setState({ hasHeader: !hasHeader })} /> The first line names the columns
            </label>
          `
        }
      </div>
      ${
        format === "csv"
          ? html`<${PlantPreview} plants=${rows
              .slice(hasHeader ? 1 : 0)
              .slice(0, previewLines)
              .map((row) => toPlant(row, columns))} />`
          : html`<${PlantPreview} plants=${ndjsonPlants(start)} />`
      }
      <label class="check">
        <input type="checkbox" checked=${replaces} onChange=${() => this.setState({ replaces: !replaces })} /> Replace plants that differ, after a dry run
      </label>
      <div class="actions">
        <button type="button" onClick=${this.props.onClose}>Cancel</button>
        <button type="button" class="main" disabled=${!isComplete || !isUtf8} onClick=${() => this.start()}>${replaces ? "Dry run" : "Import"}</button>
      </div>
    `;
  }

  /** @param {File} file */
  progress(file) {
    const { status, isRetrying } = this.state;
    const bytes = status?.bytes ?? 0;
    return html`
      <p class="file"><b class="cut" title=${file.name}>${untrustedText(file.name)}</b> <span class="faint">${formatBytes(bytes)} of ${formatBytes(file.size)}</span></p>
      <progress aria-label="Import" value=${bytes} max=${Math.max(1, file.size)}></progress>
      <p role="status">${isRetrying ? "The server does not answer; trying again." : status === null ? "Starting…" : countsText(status)}</p>
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

  /**
   * @param {ImportStatus} status
   * @param {File} file
   */
  result(status, file) {
    const { ending, message, rejected, rejections, reported, replaced, run } = status;
    const isDryRun = status.update === "dry-run";
    const what = isDryRun ? "Dry run" : "Import";
    const titles = { complete: `${what} complete`, cancelled: `${what} stopped`, failed: `${what} failed` };
    const canReplace = isDryRun && ending === "complete";
    return html`
      <div class=${`response ${ending === "complete" ? "ok" : ""}`} role="status">
        <p><b>${titles[/** @type {keyof typeof titles} */ (ending)]}: ${untrustedText(file.name)}</b></p>
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

/** @param {{ plants: { id: string, name: string, tag: string | null }[] }} properties */
function PlantPreview({ plants }) {
  if (plants.length === 0) return html`<p class="empty">The file has no plants.</p>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="Preview">
      <table class="list preview">
        <thead><tr><th scope="col" class="number">Id</th><th scope="col">Name</th><th scope="col" class="tag">Tag</th></tr></thead>
        <tbody>
          ${plants.map(
            ({ id, name, tag }) => html`
              <tr>
                <td class="number id">${untrustedText(id)}</td>
                <td class="text main"><span title=${name}>${untrustedText(name)}</span></td>
                <td class="text tag">${tag !== null && html`<span title=${tag}><span class="chip">${untrustedText(tag)}</span></span>`}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** The first plants that an import replaces, before and after. @param {ImportStatus} status */
function Differences({ differences, replaced, update }) {
  if (differences.length === 0) return null;
  const shown = (/** @type {Content} */ { name, tag }) =>
    html`${untrustedText(name)} ${tag !== undefined && html`<span class="chip">${untrustedText(tag)}</span>`}`;
  return html`
    <h3>${update === "dry-run" ? "To be replaced" : "Replaced"}${replaced > differences.length ? `, the first ${differences.length}` : ""}</h3>
    <ul class="rows" aria-label="Differences">
      ${differences.map(({ line, id, before, after }) => html`<li><div class="grow">${shown(before)} → ${shown(after)}<small>Plant ${id}, line ${line.toLocaleString("en-US")}</small></div></li>`)}
    </ul>
  `;
}

/** @param {ImportStatus} status */
function countsText({ created, unchanged, replaced, rejected, update }) {
  const counts = [created, unchanged, replaced, rejected].map((count) => count.toLocaleString("en-US"));
  const toBe = update === "dry-run" ? "to be " : "";
  const differing = replaced > 0 ? `${counts[2]} ${toBe}replaced, ` : "";
  return `${counts[0]} ${toBe}created, ${counts[1]} already stored, ${differing}${counts[3]} rejected`;
}

/**
 * @param {(string | undefined)[]} row
 * @param {Columns} columns
 */
function toPlant(row, { id, name, tag }) {
  return { id: row[id] ?? "", name: row[name] ?? "", tag: tag === -1 ? null : (row[tag] ?? null) };
}

/** Why a line is rejected, without what is said of a request. @param {string} message */
function plainReason(message) {
  const reason = message.replace(/^The body is not a NewPlant: /, "");
  return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
}

/** The plants of the first lines; the digits of an id as they are, which a number in JavaScript would round. @param {string} text */
function ndjsonPlants(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(0, previewLines).map((line) => {
    try {
      const { name, tag } = JSON.parse(line);
      const id = /"id"\s*:\s*(-?\d+)/.exec(line)?.[1] ?? "";
      return { id, name: String(name ?? ""), tag: tag === undefined ? null : String(tag) };
    } catch {
      return { id: "", name: line.slice(0, 200), tag: null };
    }
  });
}

/**
 * The text of the start of a file, without a character or line that is cut at its end.
 *
 * @param {Uint8Array} bytes
 * @param {boolean} isPartial
 */
function decodeStart(bytes, isPartial) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isPartial });
    return {
      text: isPartial ? text.slice(0, text.lastIndexOf("\n") + 1) || text : text,
      isUtf8: !text.includes("\0"),
    };
  } catch {
    return { text: new TextDecoder("windows-1252").decode(bytes), isUtf8: false };
  }
}

/** The delimiter that the first line has most of. @param {string} text */
function guessDelimiter(text) {
  const line = text.slice(0, Math.max(0, text.search(/[\r\n]|$/)));
  const counts = delimiters.map(([delimiter = ","]) => ({ delimiter, count: line.split(delimiter).length }));
  return counts.reduce((most, each) => (each.count > most.count ? each : most)).delimiter;
}
