// The list of optional indexes, with buttons to build and drop them.

import { get, post } from "./api.js";
import { Confirmation, ErrorMessage } from "./dialogs.js";
import { html } from "./format.js";
import { ReloadingSection } from "./reloading-section.js";

/**
 * @typedef {"newest" | "name" | "tag" | "text"} IndexName
 * @typedef {{ name: IndexName, change: "create" | "drop" }} Change
 * @typedef {{ states: Record<IndexName, string>, changing: Change | null, failure: string | null }} IndexList
 * @typedef {{ list: IndexList | null, error: string, confirming: Change | null }} State
 */

/** @type {Record<IndexName, string>} */
const descriptions = {
  newest: "Records when and with which token plants are created, starting when it is built.",
  name: "Sorts by name, and finds names by their beginning.",
  tag: "Sorts by tag, and finds tags.",
  text: "Finds names and tags by any part of them, whatever its case.",
};

const names = /** @type {IndexName[]} */ (Object.keys(descriptions));

/** @extends {ReloadingSection<{ slowTick: number, engine: string }, State>} */
export class Indexes extends ReloadingSection {
  /** @override @type {State} */
  state = { list: null, error: "", confirming: null };

  /** @override */
  async fetchData() {
    return { list: await get("indexes") };
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

  /** @param {Change} change */
  confirmation({ name, change }) {
    const blocksCreates = this.props.engine === "sqlite" && (change === "drop" || name !== "newest");
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
        <p>${blocksCreates ? blockedCreates : `Creates continue while it ${change === "create" ? "builds" : "is dropped"}.`}</p>
      <//>
    `;
  }
}

const blockedCreates =
  "Creates wait until this is done, about a second for each million plants in the store, and at least ten for the index “text”. Once the queue is full, creates get " +
  "503; retrying them is safe.";

/** @param {Change["change"]} change */
function changeLabel(change) {
  return change === "create" ? "Build" : "Drop";
}
