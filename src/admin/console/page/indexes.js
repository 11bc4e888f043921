// The optional indexes, what each is for and what it costs.

import { read, sentenceOf, write } from "./api.js";
import { Confirmation, Fault } from "./dialogs.js";
import { html } from "./format.js";
import { Component } from "./library/preact.js";

/**
 * @typedef {"newest" | "name" | "tag"} IndexName
 * @typedef {{ states: Record<IndexName, string>, changing: { name: IndexName, change: string } | null, failure: string | null }} Indexed
 * @typedef {{ indexed: Indexed | null, fault: string, asking: { name: IndexName, change: "create" | "drop" } | null }} State
 */

/** @type {Record<IndexName, string>} */
const purposes = {
  newest: "keeps the order of creation, from now on",
  name: "searches by the beginning of a name at once, in the order of names",
  tag: "searches by tag at once",
};

const names = /** @type {IndexName[]} */ (Object.keys(purposes));

/** @extends {Component<{ slowBeat: number, engine: string }, State>} */
export class Indexes extends Component {
  /** @override @type {State} */
  state = { indexed: null, fault: "", asking: null };

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /**
   * @override
   * @param {{ slowBeat: number }} before
   */
  componentDidUpdate(before) {
    if (before.slowBeat !== this.props.slowBeat) void this.load();
  }

  async load() {
    try {
      this.setState({ indexed: await read("indexes"), fault: "" });
    } catch (error) {
      this.setState({ fault: sentenceOf(error) });
    }
  }

  /** @override */
  render() {
    const { indexed, fault, asking } = this.state;
    return html`
      <section class="card indexes" aria-labelledby="indexes-title">
        <header><h2 id="indexes-title">Indexes</h2></header>
        <p class="note">They make searching quick, and each costs every create a little.</p>
        <${Fault} text=${fault === "" ? (indexed?.failure ?? "") : fault} />
        <ul class="rows">
          ${indexed !== null && names.map((name) => this.row(name, indexed))}
        </ul>
        ${asking !== null && this.confirmation(asking)}
      </section>
    `;
  }

  /**
   * @param {IndexName} name
   * @param {Indexed} indexed
   */
  row(name, { states, changing }) {
    const isChanging = changing?.name === name;
    const state = isChanging ? (changing.change === "create" ? "building" : "dropping") : states[name];
    const isChangedElsewhere = states[name] === "building" || states[name] === "dropping";
    const change = states[name] === "none" ? "create" : "drop";
    const word = change === "create" ? "Make" : "Drop";
    return html`
      <li key=${name}>
        <div class="grow">
          <span class="name">${name}</span>
          <span class=${`badge ${states[name]}`}>${state}</span>
          <small>${purposes[name]}</small>
        </div>
        <button
          type="button"
          aria-label=${`${word} the index ${name}`}
          disabled=${changing !== null || isChangedElsewhere}
          onClick=${() => this.setState({ asking: { name, change } })}
        >
          ${word}
        </button>
      </li>
    `;
  }

  /** @param {{ name: IndexName, change: "create" | "drop" }} asking */
  confirmation({ name, change }) {
    const stops = this.props.engine === "sqlite" && (change === "drop" || name !== "newest");
    return html`
      <${Confirmation}
        title=${`${change === "create" ? "Make" : "Drop"} the index ${name}?`}
        action=${change === "create" ? "Make it" : "Drop it"}
        onConfirm=${async () => {
          await write("indexes", { name, change });
          await this.load();
        }}
        onClose=${() => this.setState({ asking: null })}
      >
        <p>
          ${
            stops
              ? "Until that is done no plant is created: requests wait, about a second for each million plants in the store, and those that find too many before them are answered 503, which is safe to try again."
              : "Plants are created meanwhile."
          }
        </p>
      <//>
    `;
  }
}
