// The export dialog: the browser downloads all plants or those of the search, and the dialog shows
// the progress.

import type { Exports } from "../exports.ts";
import { type Answer, apiUrl, download, errorMessage, get } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { html, untrustedText } from "./format.ts";
import { Component } from "./library.js";
import { parseQuery } from "./query.ts";
import { formatBytes, formatCount, percent } from "./units.ts";

type Progress = NonNullable<Answer<Exports["progress"]>>;

interface State {
  scope: "all" | "search";
  format: "csv" | "ndjson";
  progress: Progress | null;
  isBusy: boolean;
  error: string;
}

const pollMs = 500;

/** How long the browser may take to begin the download. */
const startMsMax = 30_000;

/** `query` is the search as typed; empty for all plants. */
export class ExportDialog extends Component<{ query: string; onClose: () => void }, State> {
  override state: State = {
    scope: this.props.query === "" ? "all" : "search",
    format: "csv",
    progress: null,
    isBusy: false,
    error: "",
  };
  isOpen = true;

  override componentWillUnmount() {
    this.isOpen = false;
  }

  async start() {
    const { scope, format } = this.state;
    const run = crypto
      .getRandomValues(new Uint8Array(12))
      .reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "");
    const { parameters } = parseQuery(scope === "search" ? this.props.query : "");
    this.setState({ isBusy: true, progress: null, error: "" });
    download(apiUrl("export", [["run", run], ["format", format], ...parameters]));
    await this.follow(run);
    this.setState({ isBusy: false });
  }

  async follow(run: string) {
    const startedAt = performance.now();
    while (this.isOpen) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      try {
        const progress: Progress | null = await get("export/progress", { run });
        this.setState({ progress, error: "" });
        if (progress !== null && progress.state !== "running") return;
        if (progress === null && performance.now() - startedAt > startMsMax) {
          this.setState({
            error: "The browser has not started the download. Allow downloads of this page, and try again.",
          });
          return;
        }
      } catch (error) {
        this.setState({ error: errorMessage(error) });
      }
    }
  }

  override render() {
    const { query, onClose } = this.props;
    const { scope, format, progress, isBusy, error } = this.state;
    return html`
      <${Dialog} title="Export plants" onClose=${onClose}>
        <fieldset class="choices">
          <legend>Plants</legend>
          <label><input type="radio" name="scope" autofocus checked=${scope === "all"} onChange=${() => this.setState({ scope: "all" })} /> All plants</label>
          ${
            query !== "" &&
            html`<label>
              <input type="radio" name="scope" checked=${scope === "search"} onChange=${() => this.setState({ scope: "search" })} />
              ${" "}The search: ${untrustedText(query)}
            </label>`
          }
        </fieldset>
        <fieldset class="choices">
          <legend>Format</legend>
          <label><input type="radio" name="format" checked=${format === "csv"} onChange=${() => this.setState({ format: "csv" })} /> CSV, for spreadsheets</label>
          <label>
            <input type="radio" name="format" checked=${format === "ndjson"} onChange=${() => this.setState({ format: "ndjson" })} />
            ${" "}NDJSON, a request body of the interface in each line
          </label>
        </fieldset>
        <div role="status">${progress !== null && html`<${ProgressText} ...${progress} />`}</div>
        ${isBusy && html`<progress aria-label="Export" max="1" value=${progress === null ? undefined : shareOf(progress)}></progress>`}
        <${ErrorMessage} text=${error} />
        <div class="actions">
          <button type="button" onClick=${onClose}>Close</button>
          <button type="button" class="main" disabled=${isBusy} onClick=${() => this.start()}>Export</button>
        </div>
      <//>
    `;
  }
}

/**
 * How much of an export is sent, from 0 to 1; undefined where the number of plants is not known.
 * The count is of a time before the export, in which more plants may have been created.
 */
function shareOf({ plants, plantsTotal }: Pick<Progress, "plants" | "plantsTotal">) {
  return plantsTotal === null ? undefined : Math.min(1, plants / Math.max(1, plantsTotal));
}

function ProgressText({ plants, bytes, plantsTotal, state }: Progress) {
  const amount = `${formatCount(plants, "plant")}, ${formatBytes(bytes)}`;
  if (state === "running")
    return html`<p>
      ${amount} so far${plantsTotal !== null && `, ${percent(shareOf({ plants, plantsTotal }) ?? 0)} of about ${formatCount(plantsTotal, "plant")}`}.
      ${" "}This dialog may be closed; the download continues.
    </p>`;
  if (state === "interrupted") return html`<p class="error">Interrupted after ${amount}. Export again.</p>`;
  return html`<p class="response ok">${amount} exported.</p>`;
}
