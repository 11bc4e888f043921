// The export dialog: the browser downloads all plants or those of the search, and the dialog shows
// the progress.

import type { Exports } from "../exports.ts";
import { readAddress } from "./address.ts";
import { type Answer, apiUrl, download, get } from "./api.ts";
import { ActionDialog } from "./dialogs.ts";
import { html, textsOf, untrustedText } from "./format.ts";
import { type ComponentChildren, useEffect, useRef, useState } from "./library.js";
import { parseQuery } from "./query.ts";
import { formatBytes, formatCount, percent } from "./units.ts";

type Progress = NonNullable<Answer<Exports["progress"]>>;

const pollMs = 500;

/** How long the browser may take to begin the download. */
const startMsMax = 30_000;

export function ExportDialog({ onClose }: { onClose: () => void }) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const [isRunning, setRunning] = useState(false);
  const isOpen = useRef(true);
  useEffect(
    () => () => {
      isOpen.current = false;
    },
    [],
  );
  // A search that is not understood finds nothing to export.
  const { query } = readAddress();
  const search = parseQuery(query).problem === "" ? query : "";

  const start = async (form: HTMLFormElement) => {
    const { scope, format = "" } = textsOf(form);
    const run = crypto.getRandomValues(new Uint32Array(3)).join("-");
    const { parameters } = parseQuery(scope === "search" ? search : "");
    setProgress(null);
    setRunning(true);
    download(apiUrl("export", [["run", run], ["format", format], ...parameters]));
    await follow(run).finally(() => setRunning(false));
  };
  const follow = async (run: string) => {
    const startedAt = performance.now();
    while (isOpen.current) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      const next = await get<Progress | null>("export/progress", { run }).catch(() => undefined);
      // The header of the page shows that the server is unreachable.
      if (next === undefined) continue;
      setProgress(next);
      if (next !== null && next.state !== "running") return;
      if (next === null && performance.now() - startedAt > startMsMax)
        throw new Error(
          "The browser has not started the download. Allow downloads of this page, and try again.",
        );
    }
  };
  const choice = (name: string, value: string, label: ComponentChildren, isFirst: boolean) =>
    html`<label><input type="radio" name=${name} value=${value} defaultChecked=${isFirst} autofocus=${value === "all"} /> ${label}</label>`;
  return html`
    <${ActionDialog} title="Export plants" action="Export" dismissal="Close" onAction=${start} onClose=${onClose}>
      <fieldset class="choices">
        <legend>Plants</legend>
        ${choice("scope", "all", "All plants", search === "")}
        ${search !== "" && choice("scope", "search", html`The search: ${untrustedText(search)}`, true)}
      </fieldset>
      <fieldset class="choices">
        <legend>Format</legend>
        ${choice("format", "csv", "CSV, for spreadsheets", true)}
        ${choice("format", "ndjson", "NDJSON, a request body of the interface in each line", false)}
      </fieldset>
      <div role="status">${progress !== null && html`<${ProgressText} ...${progress} />`}</div>
      ${isRunning && html`<progress aria-label="Export" max="1" value=${progress === null ? undefined : shareOf(progress)}></progress>`}
    <//>
  `;
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
