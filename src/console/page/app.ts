// The page: the log-in form, then all sections, which it reloads every few seconds.

import { AddPlant } from "./add-plant.ts";
import { abortRequests, get, post, RequestError } from "./api.ts";
import { Backup } from "./backup.ts";
import { Charts } from "./charts.ts";
import { ExportDialog } from "./export.ts";
import { html } from "./format.ts";
import { ImportDialog } from "./import.ts";
import { Indexes } from "./indexes.ts";
import { Component, render } from "./library.js";
import { LogIn } from "./log-in.ts";
import { Plants } from "./plants.ts";
import { Requests, type Span } from "./requests.ts";
import { appendSamples, emptyHistory, type History } from "./samples.ts";
import { SandboxSection } from "./sandbox.ts";
import { SandboxRequests } from "./sandbox-requests.ts";
import { Tokens } from "./tokens.ts";

interface SessionStatus {
  requiresPassword: boolean;
  isAuthenticated: boolean;
}

interface About {
  version: string;
  engine: string;
  run: string;
}

interface State {
  session: "unknown" | "loggedOut" | "loggedIn";
  requiresPassword: boolean;
  isReachable: boolean;
  tick: number;
  slowTick: number;
  history: History;
  about: About | null;
  token: string;
  query: string;
  changes: number;
  dialog: "add" | "import" | "export" | null;
  file: File | null;
  isDropTarget: boolean;
  span: Span | null;
}

/** The duration of a sample of the server. */
const tickMs = 5_000;

/** Tokens and indexes are reloaded less often. */
const ticksPerSlowTick = 2;

class App extends Component<object, State> {
  override state: State = {
    session: "unknown",
    requiresPassword: false,
    isReachable: true,
    tick: 0,
    slowTick: 0,
    history: emptyHistory,
    about: null,
    /** Counts the page's changes to the sandbox. */
    changes: 0,
    token: "",
    /** The search that is shown, as typed. */
    query: "",
    dialog: null,
    file: null,
    isDropTarget: false,
    /** The time whose errors are listed. */
    span: null,
  };

  override componentDidMount() {
    void this.loadSession();
    setInterval(() => void this.poll(), tickMs);
    document.addEventListener("visibilitychange", () => void this.poll());
    this.acceptFiles();
  }

  /** A file may be dropped anywhere on the page. */
  acceptFiles() {
    const isFile = (event: DragEvent) =>
      this.state.session === "loggedIn" && (event.dataTransfer?.types.includes("Files") ?? false);
    document.addEventListener("dragover", (event) => {
      if (!isFile(event)) return;
      event.preventDefault();
      if (this.state.dialog === null) this.setState({ isDropTarget: true });
    });
    document.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) this.setState({ isDropTarget: false });
    });
    document.addEventListener("drop", (event) => {
      if (!isFile(event)) return;
      event.preventDefault();
      const [file = null] = event.dataTransfer?.files ?? [];
      if (this.state.dialog === null) this.setState({ isDropTarget: false, dialog: "import", file });
    });
  }

  async loadSession() {
    try {
      const { requiresPassword, isAuthenticated } = await get<SessionStatus>("session");
      this.setState({
        requiresPassword,
        session: isAuthenticated ? "loggedIn" : "loggedOut",
        isReachable: true,
      });
      if (isAuthenticated) await this.loadHistory();
    } catch {
      this.setState({ isReachable: false });
    }
  }

  /** Reloads all sections, unless the page is hidden. */
  async poll() {
    if (document.hidden || this.isPolling) return;
    if (this.state.session !== "loggedIn") {
      if (!this.state.isReachable) await this.loadSession();
      return;
    }
    this.isPolling = true;
    await this.loadHistory();
    this.isPolling = false;
    const tick = this.state.tick + 1;
    this.setState({ tick, slowTick: Math.floor(tick / ticksPerSlowTick) });
  }

  isPolling = false;

  async loadHistory() {
    const { history } = this.state;
    const next = history.first + history.samples.length;
    try {
      const { about, ...newer } = await get<History & { about: About }>("history", { since: String(next) });
      this.setState({ about, isReachable: true, history: appendSamples(history, newer) });
    } catch (error) {
      if (this.state.session !== "loggedIn") return;
      if (error instanceof RequestError && error.status === 401) this.setState({ session: "loggedOut" });
      else this.setState({ isReachable: false });
    }
  }

  /** Removes the sections first: a reload after the end of the session would be an error. */
  async logOut() {
    this.setState({ session: "unknown", token: "", dialog: null, query: "" });
    abortRequests();
    try {
      await post("session-end", {});
      this.setState({ session: "loggedOut" });
    } catch {
      this.setState({ isReachable: false });
    }
  }

  override render() {
    const { session, isReachable } = this.state;
    if (session === "loggedOut") return html`<${LogIn} onLogIn=${() => this.loadSession()} />`;
    if (session === "unknown")
      return html`
        <header class="top"><${Brand} /></header>
        <p class="empty" role="status">${isReachable ? "" : "The server is unreachable; retrying."}</p>
      `;
    return this.console();
  }

  console() {
    const { requiresPassword, isReachable, tick, slowTick, history, about, isDropTarget, changes, span } =
      this.state;
    const isSandbox = about?.engine === "memory";
    const open = (dialog: State["dialog"]) => () => this.setState({ dialog, file: null });
    return html`
      <header class="top">
        <${Brand} />
        <p class="version">${about !== null && `${about.version} ${engineNames[about.engine] ?? ""}`}</p>
        <p class=${`connection ${isReachable ? "up" : "down"}`} role="status">
          <i aria-hidden="true"></i>${isReachable ? "Live" : "The server is unreachable; retrying."}
        </p>
        <nav aria-label="Actions">
          <button type="button" onClick=${open("import")}>Import</button>
          <button type="button" onClick=${open("export")}>Export</button>
          ${requiresPassword && html`<button type="button" class="quiet" onClick=${() => this.logOut()}>Log out</button>`}
        </nav>
      </header>
      <main>
        <div class=${`columns ${isSandbox ? "with-sandbox" : ""}`}>
          <${Plants}
            tick=${tick}
            onAdd=${open("add")}
            onSearch=${(query: string) => this.setState({ query })}
          />
          <div class="side">
            <${Charts} history=${history} onErrors=${isSandbox ? undefined : (span: State["span"]) => this.setState({ span })} />
            <${Tokens} tick=${slowTick} onIssued=${(issued: string) => this.setState({ token: issued })} />
            <${Indexes} tick=${slowTick} engine=${about?.engine ?? ""} />
            ${!isSandbox && html`<${Backup} engine=${about?.engine ?? ""} />`}
          </div>
          ${
            isSandbox
              ? html`
                  <${SandboxSection}
                    tick=${slowTick}
                    onChanged=${() => this.setState({ tick: tick + 1, slowTick: slowTick + 1, changes: changes + 1 })}
                  />
                  <${SandboxRequests} changes=${changes} />
                `
              : about !== null &&
                html`<${Requests} tick=${slowTick} span=${span} onAll=${() => this.setState({ span: null })} />`
          }
        </div>
      </main>
      ${isDropTarget && html`<div class="drop-anywhere" aria-hidden="true">Drop the file to import it</div>`}
      ${this.dialog()}
    `;
  }

  dialog() {
    const { dialog, tick, token, query, file } = this.state;
    const onClose = () => this.setState({ dialog: null });
    const reload = () => this.setState({ tick: tick + 1 });
    if (dialog === "import")
      return html`<${ImportDialog} file=${file} onImported=${reload} onClose=${onClose} />`;
    if (dialog === "export") return html`<${ExportDialog} query=${query} onClose=${onClose} />`;
    if (dialog === null) return null;
    return html`<${AddPlant}
      token=${token}
      onToken=${(entered: string) => this.setState({ token: entered })}
      onCreated=${reload}
      onClose=${onClose}
    />`;
  }
}

const engineNames: Record<string, string> = {
  sqlite: "on SQLite",
  postgres: "on PostgreSQL",
  memory: "in memory: a sandbox, nothing is kept",
};

function Brand() {
  return html`<h1><img src="icon.svg" alt="" width="28" height="28" /> Plant Store</h1>`;
}

const container = document.getElementById("app");
// The header that is shown until the scripts are loaded.
container?.replaceChildren();
if (container !== null) render(html`<${App} />`, container);
