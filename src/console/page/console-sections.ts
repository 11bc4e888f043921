// The console: all sections, which it loads again every few seconds, and the dialogs of the header.

import { AddPlant } from "./add-plant.ts";
import { get, RequestError } from "./api.ts";
import { Charts } from "./charts.ts";
import { ExportDialog } from "./export-dialog.ts";
import { useTicks } from "./hooks.ts";
import { ImportDialog } from "./import-dialog.ts";
import { useEffect, useState } from "./library.js";
import { html } from "./markup.ts";
import { Plants } from "./plant-list.ts";
import { Requests } from "./request-list.ts";
import { appendSamples, emptyHistory, type History } from "./samples.ts";
import { Sandbox } from "./sandbox-sections.ts";
import { contract } from "./shown-contract.ts";
import { Tokens } from "./token-list.ts";

interface About {
  version: string;
  engine: string;
}

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
  const [dialog, open] = useState<"add" | "import" | "export" | null>(null);

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

  const onClose = () => open(null);

  const isSandbox = about?.engine === "memory";
  return html`
    <header class="top">
      <${Brand} />
      <p class="version">${about !== null && `${about.version} ${engineNames[about.engine] ?? ""}`}</p>
      <p class=${`connection ${isReachable ? "up" : "down"}`} role="status">
        <i aria-hidden="true"></i>${isReachable ? "Live" : "The server is unreachable; retrying."}
      </p>
      <nav aria-label="Actions">
        <button type="button" onClick=${() => open("import")}>Import</button>
        <button type="button" onClick=${() => open("export")}>Export</button>
        ${onLogOut !== undefined && html`<button type="button" class="quiet" onClick=${onLogOut}>Log out</button>`}
      </nav>
    </header>
    <main>
      <div class=${`columns ${isSandbox ? "with-sandbox" : ""}`}>
        <${Plants} tick=${tick} onAdd=${() => open("add")} />
        <div class="side">
          <${Charts} history=${history} />
          <${Tokens} tick=${tick} />
        </div>
        ${isSandbox && html`<${Sandbox} tick=${tick} onChanged=${reload} />`}
        ${about !== null && !isSandbox && html`<${Requests} tick=${tick} />`}
      </div>
    </main>
    ${dialog === "import" && html`<${ImportDialog} onImported=${reload} onClose=${onClose} />`}
    ${dialog === "export" && html`<${ExportDialog} onClose=${onClose} />`}
    ${dialog === "add" && html`<${AddPlant} onCreated=${reload} onClose=${onClose} />`}
  `;
}

export function Brand({ name = contract.service }: { name?: string }) {
  return html`<h1><img src="icon.svg" alt="" width="28" height="28" /> ${name}</h1>`;
}
