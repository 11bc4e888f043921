// Shows the console: all sections of the collection in view, which it loads again every few
// seconds, the links to the other collections, and the dialogs of the header.

import { capitalized } from "../../contract/words.ts";
import type { PageCollection } from "../page-contract.ts";
import { AddPlant } from "./add-plant.ts";
import { collectionAddress, readCollection } from "./address.ts";
import { get, RequestError } from "./api.ts";
import { Charts, type History } from "./charts.ts";
import { ExportDialog } from "./export-dialog.ts";
import { useListener, useTicks } from "./hooks.ts";
import { ImportDialog } from "./import-dialog.ts";
import { useEffect, useState } from "./library.js";
import { html, onValue } from "./markup.ts";
import { Plants } from "./plant-list.ts";
import { Requests } from "./request-list.ts";
import { Sandbox } from "./sandbox-sections.ts";
import { collection, contract, showCollection } from "./shown-contract.ts";
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
  const [history, setHistory] = useState<History | null>(null);
  const [dialog, open] = useState<"add" | "import" | "export" | null>(null);

  /** The name of the collection in view. */
  const [shown, setShown] = useState(collection.name);

  const loadHistory = async () => {
    try {
      const loaded = await get<History & { about: About }>("history");
      if (shown === collection.name) setHistory(loaded);
      setAbout(loaded.about);
      setReachable(true);
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) onLoggedOut();
      else setReachable(false);
    }
  };
  const reload = () => setTick((last) => last + 1);
  useEffect(() => void loadHistory(), [shown]);
  useTicks(() => loadHistory().then(reload));

  // A link to a collection, or a step in the history of the browser.
  useListener(window, "popstate", () => {
    showCollection(readCollection());
    if (collection.name === shown) return;
    setShown(collection.name);
    setHistory(null);
    open(null);
  });

  const onClose = () => open(null);
  const { collections } = contract;

  const isSandbox = about?.engine === "memory";
  return html`
    <header class="top">
      <${Brand} />
      ${collections.length > 1 && html`<nav class="collections" aria-label="Collections">${collectionLinks(collections)}</nav>`}
      <p class="version">${about !== null && `${about.version} ${engineNames[about.engine] ?? ""}`}</p>
      <p class=${`connection ${isReachable ? "up" : "down"}`} role="status">
        <i aria-hidden="true"></i>${isReachable ? "Live" : "The server is unreachable; retrying."}
      </p>
      <nav aria-label="Actions">
        ${
          collections.length > 0 &&
          html`
            <button type="button" onClick=${() => open("import")}>Import</button>
            <button type="button" onClick=${() => open("export")}>Export</button>
          `
        }
        ${onLogOut !== undefined && html`<button type="button" class="quiet" onClick=${onLogOut}>Log out</button>`}
      </nav>
    </header>
    <main>
      <div class=${`columns ${isSandbox ? "with-sandbox" : ""}`}>
        ${collections.length > 0 && html`<${Plants} key=${shown} tick=${tick} onAdd=${() => open("add")} />`}
        <div class="side">
          ${collections.length > 0 && html`<${Charts} key=${shown} history=${history} />`}
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

/** More collections are a list to choose from. */
const tabsMax = 7;

function collectionLinks(collections: readonly PageCollection[]) {
  const links = collections.map(({ name, many }) => {
    // DigitalOcean has four kinds of keys.
    const isShared = collections.some((each) => each.name !== name && each.many === many);
    const label = capitalized(many) + (isShared ? ` (${name})` : "");
    return { label, link: collectionAddress(name), isShown: name === collection.name };
  });
  const go = (link: string) => {
    location.hash = link;
  };
  return collections.length > tabsMax
    ? html`<select aria-label="Collection" onChange=${onValue(go)}>${links.map(({ label, link, isShown }) => html`<option value=${link} selected=${isShown}>${label}</option>`)}</select>`
    : links.map(
        ({ label, link, isShown }) =>
          html`<a href=${link} aria-current=${isShown ? "page" : null}>${label}</a>`,
      );
}

export function Brand({ name = contract.service }: { name?: string }) {
  return html`<h1><img src="icon.svg" alt="" width="28" height="28" /> ${name}</h1>`;
}
