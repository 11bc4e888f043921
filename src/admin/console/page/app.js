// The page: asks for the password where one is set, and then shows everything, again and again.

import { AddPlant } from "./add-plant.js";
import { Refused, read, write } from "./api.js";
import { Plots } from "./charts.js";
import { html } from "./format.js";
import { Indexes } from "./indexes.js";
import { Component, render } from "./library/preact.js";
import { Plants } from "./plants.js";
import { LogIn } from "./session.js";
import { Tokens } from "./tokens.js";

/**
 * @typedef {import("./charts.js").Hour} Hour
 * @typedef {{ version: string, engine: string, run: string }} About
 * @typedef {{ session: "unknown" | "closed" | "open", needsPassword: boolean, isReached: boolean, beat: number,
 *   slowBeat: number, hour: Hour, about: About | null, token: string,
 *   isAdding: boolean }} State
 */

/** As often as the server ends a sample. */
const beatMs = 5_000;

/** Tokens and indexes change seldom. */
const beatsPerSlowBeat = 2;

/** @type {Hour} */
const emptyHour = { first: 0, samples: [], sampleMs: 5_000, samplesMax: 720, endsAt: Date.now() / 1_000 };

/** @extends {Component<{}, State>} */
class App extends Component {
  /** @override @type {State} */
  state = {
    session: "unknown",
    needsPassword: false,
    isReached: true,
    beat: 0,
    slowBeat: 0,
    hour: emptyHour,
    about: null,
    token: "",
    isAdding: false,
  };

  /** @override */
  componentDidMount() {
    void this.lookAtSession();
    setInterval(() => void this.beat(), beatMs);
    document.addEventListener("visibilitychange", () => void this.beat());
  }

  async lookAtSession() {
    try {
      const { needsPassword, isOpen } = await read("session");
      this.setState({ needsPassword, session: isOpen ? "open" : "closed", isReached: true });
      if (isOpen) await this.readHistory();
    } catch {
      this.setState({ isReached: false });
    }
  }

  /** A page that nobody sees asks for nothing. */
  async beat() {
    if (document.hidden || this.isBeating) return;
    if (this.state.session !== "open") {
      if (!this.state.isReached) await this.lookAtSession();
      return;
    }
    this.isBeating = true;
    await this.readHistory();
    this.isBeating = false;
    const beat = this.state.beat + 1;
    this.setState({ beat, slowBeat: Math.floor(beat / beatsPerSlowBeat) });
  }

  isBeating = false;

  async readHistory() {
    const { hour, about: before } = this.state;
    const known = hour.first + hour.samples.length;
    try {
      const { about, ...news } = await read("history", { since: String(known) });
      // A server that has started anew counts from 0 again, and one that was not asked for long has left some behind: what
      // it has is asked for with the next beat.
      const isAnother = news.first > known || (before !== null && before.run !== about.run);
      this.setState({ about, isReached: true, hour: isAnother ? emptyHour : grown(hour, news) });
    } catch (error) {
      if (error instanceof Refused && error.status === 401) this.setState({ session: "closed" });
      else this.setState({ isReached: false });
    }
  }

  async logOut() {
    try {
      await write("session-end", {});
    } catch {
      this.setState({ isReached: false });
      return;
    }
    this.setState({ session: "closed", token: "", isAdding: false });
  }

  /** @override */
  render() {
    const { session, isReached } = this.state;
    if (session === "closed") return html`<${LogIn} onOpen=${() => this.lookAtSession()} />`;
    if (session === "unknown")
      return html`<p class="start" role="status">${isReached ? "" : "The server cannot be reached; trying again."}</p>`;
    return this.console();
  }

  console() {
    const { needsPassword, isReached, beat, slowBeat, hour, about, token, isAdding } = this.state;
    return html`
      <header class="top">
        <h1><img src="icon.svg" alt="" width="28" height="28" /> Plant Store</h1>
        <p class="faint">${about !== null && `${about.version} on ${about.engine === "sqlite" ? "SQLite" : "PostgreSQL"}`}</p>
        <p class=${`link-state ${isReached ? "up" : "down"}`} role="status">
          <i aria-hidden="true"></i>${isReached ? "Live" : "The server cannot be reached; trying again."}
        </p>
        ${needsPassword && html`<button type="button" onClick=${() => this.logOut()}>Log out</button>`}
      </header>
      <main>
        <${Plots} hour=${hour} />
        <div class="columns">
          <${Plants} beat=${beat} onAdd=${() => this.setState({ isAdding: true })} />
          <div class="side">
            <${Tokens} slowBeat=${slowBeat} onIssued=${(/** @type {string} */ issued) => this.setState({ token: issued })} />
            <${Indexes} slowBeat=${slowBeat} engine=${about?.engine ?? ""} />
          </div>
        </div>
      </main>
      ${
        isAdding &&
        html`<${AddPlant}
          token=${token}
          onToken=${(/** @type {string} */ given) => this.setState({ token: given })}
          onCreated=${() => this.setState({ beat: beat + 1 })}
          onClose=${() => this.setState({ isAdding: false })}
        />`
      }
    `;
  }
}

/**
 * @param {Hour} hour
 * @param {Omit<Hour, "endsAt">} news
 * @returns {Hour}
 */
function grown(hour, { first, samples, sampleMs, samplesMax }) {
  if (samples.length === 0) return hour;
  const all = [...hour.samples, ...samples].slice(-samplesMax);
  const endsAt =
    hour.samples.length === 0 ? Date.now() / 1_000 : hour.endsAt + (samples.length * sampleMs) / 1_000;
  return { first: first + samples.length - all.length, samples: all, sampleMs, samplesMax, endsAt };
}

const place = document.getElementById("app");
if (place !== null) render(html`<${App} />`, place);
