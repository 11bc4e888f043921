// The console: all sections, which it loads again every few seconds, and the dialogs of the header.

import { AddPlant } from "./add-plant.ts";
import { get, RequestError } from "./api.ts";
import { Backup } from "./backup.ts";
import { Charts } from "./charts.ts";
import { ExportDialog } from "./export.ts";
import { html } from "./format.ts";
import { useListener } from "./hooks.ts";
import { ImportDialog } from "./import.ts";
import { Indexes } from "./indexes.ts";
import { useEffect, useState } from "./library.js";
import { Plants } from "./plants.ts";
import { Requests, type Span } from "./requests.ts";
import { appendSamples, emptyHistory, type History } from "./samples.ts";
import { SandboxSection } from "./sandbox.ts";
import { SandboxRequests } from "./sandbox-requests.ts";
import { useTicks } from "./ticks.ts";
import { Tokens } from "./tokens.ts";

interface About {
  version: string;
  engine: string;
}

/** Tokens and indexes are loaded again less often. */
const ticksPerSlowTick = 2;

const engineNames: Record<string, string> = {
  sqlite: "on SQLite",
  postgres: "on PostgreSQL",
  memory: "in memory: a sandbox, nothing is kept",
};

/** `onLoggedOut` is called when the session has ended elsewhere. */
export function Console({
  onLogOut,
  onLoggedOut,
}: {
  onLogOut: (() => void) | undefined;
  onLoggedOut: () => void;
}) {
  const [isReachable, setReachable] = useState(true);
  const [tick, setTick] = useState(0);
  const [about, setAbout] = useState<About | null>(null);
  const [history, setHistory] = useState(emptyHistory);
  /** The token that was issued or pasted last. */
  const [token, setToken] = useState("");
  const [dialog, setDialog] = useState<"add" | "import" | "export" | null>(null);
  const [file, setFile] = useState<File | null>(null);
  const [isDropTarget, setDropTarget] = useState(false);
  /** The time whose errors are listed. */
  const [span, setSpan] = useState<Span | null>(null);

  const loadHistory = async () => {
    const since = String(history.first + history.samples.length);
    try {
      const { about, ...newer } = await get<History & { about: About }>("history", { since });
      setHistory((older) => appendSamples(older, newer));
      setAbout(about);
      setReachable(true);
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) onLoggedOut();
      else setReachable(false);
    }
  };
  const reload = () => setTick((last) => last + 1);
  useEffect(() => void loadHistory(), []);
  useTicks(() => loadHistory().then(reload));

  // A file may be dropped anywhere on the page.
  const onDrag = (isTarget: boolean, event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (dialog === null) setDropTarget(isTarget);
  };
  useListener<DragEvent>(document, "dragover", (event) => onDrag(true, event));
  useListener<DragEvent>(document, "dragleave", (event) => {
    if (event.relatedTarget === null) setDropTarget(false);
  });
  useListener<DragEvent>(document, "drop", (event) => {
    onDrag(false, event);
    const [dropped] = event.dataTransfer?.files ?? [];
    if (dropped !== undefined && dialog === null) openDialog("import", dropped);
  });
  const openDialog = (opened: typeof dialog, dropped: File | null = null) => {
    setDialog(opened);
    setFile(dropped);
  };
  const onClose = () => setDialog(null);

  const slowTick = Math.floor(tick / ticksPerSlowTick);
  const isSandbox = about?.engine === "memory";
  return html`
    <header class="top">
      <${Brand} />
      <p class="version">${about !== null && `${about.version} ${engineNames[about.engine] ?? ""}`}</p>
      <p class=${`connection ${isReachable ? "up" : "down"}`} role="status">
        <i aria-hidden="true"></i>${isReachable ? "Live" : "The server is unreachable; retrying."}
      </p>
      <nav aria-label="Actions">
        <button type="button" onClick=${() => openDialog("import")}>Import</button>
        <button type="button" onClick=${() => openDialog("export")}>Export</button>
        ${onLogOut !== undefined && html`<button type="button" class="quiet" onClick=${onLogOut}>Log out</button>`}
      </nav>
    </header>
    <main>
      <div class=${`columns ${isSandbox ? "with-sandbox" : ""}`}>
        <${Plants} tick=${tick} onAdd=${() => openDialog("add")} />
        <div class="side">
          <${Charts} history=${history} onErrors=${isSandbox ? undefined : setSpan} />
          <${Tokens} tick=${slowTick} onIssued=${setToken} />
          <${Indexes} tick=${slowTick} engine=${about?.engine} />
          ${about !== null && !isSandbox && html`<${Backup} engine=${about.engine} />`}
        </div>
        ${
          isSandbox &&
          html`
            <${SandboxSection} tick=${slowTick} onChanged=${() => setTick((last) => last + ticksPerSlowTick)} />
            <${SandboxRequests} tick=${slowTick} />
          `
        }
        ${about !== null && !isSandbox && html`<${Requests} tick=${slowTick} span=${span} onAll=${() => setSpan(null)} />`}
      </div>
    </main>
    ${isDropTarget && html`<div class="drop-anywhere" aria-hidden="true">Drop the file to import it</div>`}
    ${dialog === "import" && html`<${ImportDialog} file=${file} onImported=${reload} onClose=${onClose} />`}
    ${dialog === "export" && html`<${ExportDialog} onClose=${onClose} />`}
    ${dialog === "add" && html`<${AddPlant} token=${token} onToken=${setToken} onCreated=${reload} onClose=${onClose} />`}
  `;
}

export function Brand() {
  return html`<h1><img src="icon.svg" alt="" width="28" height="28" /> Plant Store</h1>`;
}
