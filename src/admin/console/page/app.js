// The page: the log-in form, then all sections, which it reloads every few seconds.

import { AddPlant } from "./add-plant.js";
import { get, post, RequestError } from "./api.js";
import { Charts } from "./charts.js";
import { html } from "./format.js";
import { Indexes } from "./indexes.js";
import { Component, render } from "./library/preact.js";
import { LogIn } from "./log-in.js";
import { Plants } from "./plants.js";
import { Tokens } from "./tokens.js";

/**
 * @typedef {import("./charts.js").History} History
 * @typedef {{ version: string, engine: string, run: string }} About
 * @typedef {{ session: "unknown" | "loggedOut" | "loggedIn", requiresPassword: boolean, isReachable: boolean, tick: number,
 *   slowTick: number, history: History, about: About | null, token: string, isAdding: boolean }} State
 */

/** The duration of a sample of the server. */
const tickMs = 5_000;

/** Tokens and indexes are reloaded less often. */
const ticksPerSlowTick = 2;

/** @type {History} */
const emptyHistory = { first: 0, samples: [], sampleMs: 5_000, samplesMax: 720, endsAt: Date.now() / 1_000 };

/** @extends {Component<{}, State>} */
class App extends Component {
  /** @override @type {State} */
  state = {
    session: "unknown",
    requiresPassword: false,
    isReachable: true,
    tick: 0,
    slowTick: 0,
    history: emptyHistory,
    about: null,
    token: "",
    isAdding: false,
  };

  /** @override */
  componentDidMount() {
    void this.loadSession();
    setInterval(() => void this.poll(), tickMs);
    document.addEventListener("visibilitychange", () => void this.poll());
  }

  async loadSession() {
    try {
      const { requiresPassword, isAuthenticated } = await get("session");
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
    const { history, about: previous } = this.state;
    const next = history.first + history.samples.length;
    try {
      const { about, ...newer } = await get("history", { since: String(next) });
      // After a restart the server counts samples from 0 again, and after a long pause it no longer has all that are missing
      // here. Then the next tick loads the history from the start.
      const isDiscontinuous = newer.first > next || (previous !== null && previous.run !== about.run);
      this.setState({
        about,
        isReachable: true,
        history: isDiscontinuous ? emptyHistory : appendSamples(history, newer),
      });
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) this.setState({ session: "loggedOut" });
      else this.setState({ isReachable: false });
    }
  }

  async logOut() {
    try {
      await post("session-end", {});
    } catch {
      this.setState({ isReachable: false });
      return;
    }
    this.setState({ session: "loggedOut", token: "", isAdding: false });
  }

  /** @override */
  render() {
    const { session, isReachable } = this.state;
    if (session === "loggedOut") return html`<${LogIn} onLogIn=${() => this.loadSession()} />`;
    if (session === "unknown")
      return html`<p class="start" role="status">${isReachable ? "" : "The server is unreachable; retrying."}</p>`;
    return this.console();
  }

  console() {
    const { requiresPassword, isReachable, tick, slowTick, history, about, token, isAdding } = this.state;
    return html`
      <header class="top">
        <h1><img src="icon.svg" alt="" width="28" height="28" /> Plant Store</h1>
        <p class="faint">${about !== null && `${about.version} on ${about.engine === "sqlite" ? "SQLite" : "PostgreSQL"}`}</p>
        <p class=${`connection ${isReachable ? "up" : "down"}`} role="status">
          <i aria-hidden="true"></i>${isReachable ? "Live" : "The server is unreachable; retrying."}
        </p>
        ${requiresPassword && html`<button type="button" onClick=${() => this.logOut()}>Log out</button>`}
      </header>
      <main>
        <${Charts} history=${history} />
        <div class="columns">
          <${Plants} tick=${tick} onAdd=${() => this.setState({ isAdding: true })} />
          <div class="side">
            <${Tokens} slowTick=${slowTick} onIssued=${(/** @type {string} */ issued) => this.setState({ token: issued })} />
            <${Indexes} slowTick=${slowTick} engine=${about?.engine ?? ""} />
          </div>
        </div>
      </main>
      ${
        isAdding &&
        html`<${AddPlant}
          token=${token}
          onToken=${(/** @type {string} */ entered) => this.setState({ token: entered })}
          onCreated=${() => this.setState({ tick: tick + 1 })}
          onClose=${() => this.setState({ isAdding: false })}
        />`
      }
    `;
  }
}

/**
 * @param {History} history
 * @param {Omit<History, "endsAt">} newer
 * @returns {History}
 */
function appendSamples(history, { first, samples, sampleMs, samplesMax }) {
  if (samples.length === 0) return history;
  const all = [...history.samples, ...samples].slice(-samplesMax);
  const endsAt =
    history.samples.length === 0 ? Date.now() / 1_000 : history.endsAt + (samples.length * sampleMs) / 1_000;
  return { first: first + samples.length - all.length, samples: all, sampleMs, samplesMax, endsAt };
}

const container = document.getElementById("app");
if (container !== null) render(html`<${App} />`, container);
