// The list of optional indexes, with buttons to build and drop them.

import { get, post } from "./api.js";
import { Confirmation, ErrorMessage } from "./dialogs.js";
import { html } from "./format.js";
import { ReloadingSection } from "./reloading-section.js";
import { formatCount, formatDuration, percent } from "./units.js";

/**
 * @typedef {"newest" | "name" | "tag" | "text"} IndexName
 * @typedef {{ name: IndexName, change: "create" | "drop" }} Change
 * @typedef {Change & { seconds: number, share: number | null, phase: string | null }} RunningChange
 * @typedef {{ states: Record<IndexName, string>, changing: RunningChange | null, failure: string | null, plants: number | null }} IndexList
 * @typedef {{ list: IndexList | null, error: string, confirming: Change | null }} State
 */

/** @type {Record<IndexName, string>} */
const descriptions = {
  newest: "Records when and with which token plants are created, starting when it is built.",
  name: "Sorts by name, and finds names by their beginning.",
  tag: "Sorts by tag, and finds tags.",
  text: "Finds names and tags by any part of them, whatever its case.",
};

/** While an index is being built or dropped, the list is loaded again after this time. */
const changingMs = 1_000;

/**
 * Seconds that creates wait for each million plants on SQLite, as the suite `console` of the benchmarks measures it on a small
 * machine, and a little more.
 *
 * @type {Record<IndexName, Record<Change["change"], number>>}
 */
const secondsPerMillion = {
  newest: { create: 0, drop: 0.1 },
  name: { create: 1, drop: 0.2 },
  tag: { create: 1, drop: 0.2 },
  text: { create: 8, drop: 0.5 },
};

const names = /** @type {IndexName[]} */ (Object.keys(descriptions));

/** @extends {ReloadingSection<{ slowTick: number, engine: string }, State>} */
export class Indexes extends ReloadingSection {
  /** @override @type {State} */
  state = { list: null, error: "", confirming: null };

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer = undefined;

  /** @override */
  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  /** @override */
  async fetchData() {
    /** @type {IndexList} */
    const list = await get("indexes");
    clearTimeout(this.timer);
    if (list.changing !== null) this.timer = setTimeout(() => void this.load(), changingMs);
    return { list };
  }

  /** @override */
  render() {
    const { list, error, confirming } = this.state;
    return html`
      <section class="card indexes" aria-labelledby="indexes-title">
        <header><h2 id="indexes-title">Indexes</h2></header>
        <p class="note">Indexes speed up search; each slows creates, “text” to a sixth on SQLite.</p>
        <${ErrorMessage} text=${error === "" ? (list?.failure ?? "") : error} />
        <ul class="rows">
          ${list !== null && names.map((name) => this.row(name, list))}
        </ul>
        ${confirming !== null && this.confirmation(confirming)}
      </section>
    `;
  }

  /**
   * @param {IndexName} name
   * @param {IndexList} list
   */
  row(name, { states, changing }) {
    const isChanging = changing?.name === name;
    const state = isChanging ? (changing.change === "create" ? "building" : "dropping") : states[name];
    const isChangedElsewhere = states[name] === "building" || states[name] === "dropping";
    const change = states[name] === "none" || states[name] === "outdated" ? "create" : "drop";
    const label = states[name] === "outdated" ? "Upgrade" : changeLabel(change);
    return html`
      <li key=${name}>
        <div class="grow">
          <span class="name">${name}</span>
          <span class=${`badge ${states[name]}`}>${state}</span>
          <small>${descriptions[name]}</small>
          ${isChanging && this.progress(changing)}
        </div>
        <button
          type="button"
          aria-label=${`${label} the index "${name}"`}
          disabled=${changing !== null || isChangedElsewhere}
          onClick=${() => this.setState({ confirming: { name, change } })}
        >
          ${label}
        </button>
      </li>
    `;
  }

  /** @param {RunningChange} change */
  progress({ name, change, seconds, share, phase }) {
    const left = share !== null && share > 0.05 ? (seconds / share) * (1 - share) : null;
    const parts = [
      ...(share === null ? [] : [percent(share)]),
      ...(phase === null ? [] : [phase]),
      ...(seconds < 1 ? [] : [`${formatDuration(seconds)} so far`]),
      // PostgreSQL counts each of its phases by itself.
      ...(left === null || phase !== null ? [] : [`about ${formatDuration(left)} left`]),
      ...(this.blocksCreates({ name, change }) ? ["creates wait"] : []),
    ];
    return html`
      <div class="building" role="status">
        <progress max="1" value=${share ?? undefined} aria-label=${`Index "${name}"`}></progress>
        <span>${parts.join(" · ")}</span>
      </div>
    `;
  }

  /** @param {Change} change */
  blocksCreates({ name, change }) {
    const isUpgrade = name === "newest" && this.state.list?.states.newest === "outdated";
    return this.props.engine !== "postgres" && (change === "drop" || name !== "newest" || isUpgrade);
  }

  /** @param {Change} change */
  confirmation({ name, change }) {
    const blocksCreates = this.blocksCreates({ name, change });
    return html`
      <${Confirmation}
        title=${`${changeLabel(change)} the index "${name}"?`}
        action=${changeLabel(change)}
        onConfirm=${async () => {
          await post("indexes", { name, change });
          await this.load();
        }}
        onClose=${() => this.setState({ confirming: null })}
      >
        <p>${blocksCreates ? blockedCreates({ name, change }, this.state.list?.plants ?? null) : `Creates continue while it ${change === "create" ? "builds" : "is dropped"}.`}</p>
      <//>
    `;
  }
}

/**
 * @param {Change} change
 * @param {number | null} plants
 */
function blockedCreates({ name, change }, plants) {
  const perMillion = secondsPerMillion[name][change];
  const estimate =
    plants === null
      ? `about ${formatDuration(perMillion)} for each million plants`
      : `about ${formatDuration((perMillion * plants) / 1e6)} for the ${formatCount(plants, "plant")} of this store`;
  return html`<b>Creates wait until this is done</b>, ${estimate}. Once the queue is full they get 503; retrying them is safe.`;
}

/** @param {Change["change"]} change */
function changeLabel(change) {
  return change === "create" ? "Build" : "Drop";
}
