// The index of the search, with a button to build or drop it.

import { get, post } from "./api.js";
import { Confirmation, ErrorMessage } from "./dialogs.js";
import { html } from "./format.js";
import { ReloadingSection } from "./reloading-section.js";
import { formatDuration, percent } from "./units.js";

/**
 * @typedef {"create" | "drop"} Change
 * @typedef {{ change: Change, seconds: number, share: number | null }} RunningChange
 * @typedef {{ state: "none" | "building" | "ready" | "broken", changing: RunningChange | null, failure: string | null }} Index
 * @typedef {{ index: Index | null, error: string, confirming: Change | null }} State
 */

/** While the index is being built or dropped, its state is loaded again after this time. */
const changingMs = 1_000;

/** @extends {ReloadingSection<{ slowTick: number, engine: string }, State>} */
export class Indexes extends ReloadingSection {
  /** @override @type {State} */
  state = { index: null, error: "", confirming: null };

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer = undefined;

  /** @override */
  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  /** @override */
  async fetchData() {
    /** @type {Index} */
    const index = await get("index");
    clearTimeout(this.timer);
    if (index.changing !== null) this.timer = setTimeout(() => void this.load(), changingMs);
    return { index };
  }

  /** @override */
  render() {
    const { index, error, confirming } = this.state;
    return html`
      <section class="card indexes" aria-labelledby="indexes-title">
        <header><h2 id="indexes-title">Search index</h2></header>
        <p class="note">Finds any part of a name or tag at once. It slows creates, on SQLite to a sixth.</p>
        <${ErrorMessage} text=${error === "" ? (index?.failure ?? "") : error} />
        ${index !== null && this.index(index)}
        ${confirming !== null && this.confirmation(confirming)}
      </section>
    `;
  }

  /** @param {Index} index */
  index({ state, changing }) {
    const isBroken = state === "broken";
    const button = (/** @type {Change} */ change, /** @type {string} */ label) => html`
      <button
        type="button"
        aria-label=${`${label} the index`}
        disabled=${changing !== null || state === "building"}
        onClick=${() => this.setState({ confirming: change })}
      >
        ${label}
      </button>
    `;
    return html`
      <div class="inline">
        <span class=${`chip ${state === "broken" ? "failed" : ""}`}>${state}</span>
        ${changing !== null && progress(changing)}
        ${state !== "ready" && button("create", isBroken ? "Build again" : "Build")}
        ${(state === "ready" || isBroken) && button("drop", "Drop")}
      </div>
    `;
  }

  /** @param {Change} change */
  confirmation(change) {
    const label = change === "create" ? "Build" : "Drop";
    const waits = change === "drop" && this.props.engine !== "postgres";
    return html`
      <${Confirmation}
        title=${`${label} the search index?`}
        action=${label}
        onConfirm=${async () => {
          await post("index", { change });
          await this.load();
        }}
        onClose=${() => this.setState({ confirming: null })}
      >
        <p>
          ${waits ? "Creates wait while it is dropped: about half a second for each million plants." : `Creates continue while it is ${change === "create" ? "built" : "dropped"}.`}
        </p>
      <//>
    `;
  }
}

/** @param {RunningChange} change */
function progress({ change, seconds, share }) {
  const left = share !== null && share > 0.05 ? (seconds / share) * (1 - share) : null;
  const parts = [
    ...(share === null ? [] : [percent(share)]),
    ...(seconds < 1 ? [] : [`${formatDuration(seconds)} so far`]),
    ...(left === null ? [] : [`about ${formatDuration(left)} left`]),
  ];
  return html`
    <div class="note grow" role="status">
      <progress max="1" value=${share ?? undefined} aria-label=${change === "create" ? "Building the index" : "Dropping the index"}></progress>
      <span>${parts.join(" · ")}</span>
    </div>
  `;
}
