// The plants of the store: lists page by page, searches, and one plant whole.

import { addressOf, Refused, read, sentenceOf } from "./api.js";
import { Fault } from "./dialogs.js";
import { foreign, html } from "./format.js";
import { Component } from "./library/preact.js";
import { noteOn, nothingFor } from "./list-caption.js";
import { WholePlant } from "./plant-dialog.js";

/**
 * @typedef {{ id: string, name: string, tag: string | null, isTruncated: boolean }} PlantSummary
 * @typedef {{ plants: PlantSummary[], order: "newest" | "id" | "name", from: "store" | "memory", next: string | null,
 *   searchedDownTo: string | null }} Listed
 * @typedef {{ by: string, text: string }} Search
 * @typedef {{ search: Search, asked: Search, listed: Listed | null, places: (string | null)[], fault: string, stale: string,
 *   isBusy: boolean, fresh: Set<string>, chosen: { id: string, name: string, tag: string | null } | null }} State
 */

const newest = { by: "newest", text: "" };

const ways = {
  newest: { label: "Newest first", hint: "" },
  id: { label: "Id", hint: "42, or nothing for the highest first" },
  name: { label: "Name begins with", hint: "Mons" },
  tag: { label: "Tag is", hint: "tropical" },
};

/** @extends {Component<{ beat: number, onAdd: () => void }, State>} */
export class Plants extends Component {
  /** @override @type {State} */
  state = {
    /** What stands in the form. */
    search: newest,
    /** What was asked for. */
    asked: newest,
    listed: null,
    /** Where the pages so far began. */
    places: [null],
    fault: "",
    /** Why the list could not be looked at again. */
    stale: "",
    isBusy: false,
    fresh: new Set(),
    chosen: null,
  };

  /** @override */
  componentDidMount() {
    void this.lookAgain(newest, [null]);
  }

  /**
   * A list that grows at its top is read again with every beat.
   *
   * @override
   * @param {{ beat: number }} before
   */
  componentDidUpdate(before) {
    const { asked, places, isBusy } = this.state;
    const isLive = (asked.by === "newest" || asked.by === "id") && asked.text === "" && places.length === 1;
    if (before.beat !== this.props.beat && isLive && !isBusy) void this.lookAgain(asked, places);
  }

  /** How many lists were asked for: an answer counts only if it is that to the last question. */
  loads = 0;
  isLooking = false;

  /**
   * @param {Search} asked
   * @param {(string | null)[]} places
   */
  async lookAgain(asked, places) {
    if (this.isLooking) return;
    this.isLooking = true;
    const load = ++this.loads;
    try {
      /** @type {Listed} */
      const listed = await read("plants", parametersOf(asked, places));
      const before = this.state.listed ?? listed;
      const known = new Set(before.plants.map(({ id }) => id));
      const news = listed.plants.map(({ id }) => id).filter((id) => !known.has(id));
      // Where all are new none stands out, and to show it with every beat took a browser half of a processor.
      const fresh = new Set(news.length < listed.plants.length ? news : []);
      if (load === this.loads) this.setState({ listed, fresh, stale: "" });
    } catch (error) {
      // Whether the server can be reached is told at the top of the page.
      const isReached = !(error instanceof Refused) || error.status !== 0;
      if (load === this.loads && isReached) this.setState({ stale: sentenceOf(error) });
    }
    this.isLooking = false;
  }

  /**
   * @param {Search} asked
   * @param {(string | null)[]} places
   */
  async load(asked, places) {
    const load = ++this.loads;
    this.setState({ isBusy: true });
    try {
      /** @type {Listed} */
      const listed = await read("plants", parametersOf(asked, places));
      if (load !== this.loads) return;
      this.setState({ asked, places, listed, fresh: new Set(), fault: "", stale: "", isBusy: false });
    } catch (error) {
      if (load === this.loads) this.setState({ fault: sentenceOf(error), isBusy: false });
    }
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    const { by, text } = this.state.search;
    const isInteger = /^\s*-?\d{1,19}\s*$/.test(text);
    if (by === "id" && text.trim() !== "" && !isInteger) {
      this.setState({ fault: "An id is an integer of 64 bits, such as 42 or -7." });
      return;
    }
    void this.load({ by, text: by === "newest" ? "" : by === "id" ? text.trim() : text }, [null]);
  }

  /** @param {string} id */
  async choose(id) {
    try {
      const chosen = await read("plant", { id });
      this.setState({ chosen: chosen ?? { id, name: "", tag: null } });
    } catch (error) {
      this.setState({ fault: sentenceOf(error) });
    }
  }

  /** @override */
  render() {
    const { asked, listed, places, fault, stale, isBusy, chosen } = this.state;
    return html`
      <section class="card plants" aria-labelledby="plants-title">
        <header>
          <h2 id="plants-title">Plants</h2>
          <button type="button" class="main" onClick=${this.props.onAdd}>Add a plant</button>
        </header>
        ${this.form()}
        <${Fault} text=${fault === "" ? stale : fault} />
        <p class="note" role="status">${listed === null ? "Reading the plants…" : noteOn(asked, listed, places)}</p>
        ${listed !== null && this.table(listed)}
        ${
          listed !== null &&
          html`
            <nav class="pages" aria-label="Pages">
              <button type="button" disabled=${places.length === 1 || isBusy} onClick=${() => this.load(asked, places.slice(0, -1))}>
                Previous
              </button>
              <span class="faint">Page ${places.length}</span>
              <button type="button" disabled=${listed.next === null || isBusy} onClick=${() => this.load(asked, [...places, listed.next])}>
                ${listed.searchedDownTo === null ? "Next" : "Search on"}
              </button>
              <a class="button" download="plants.ndjson" href=${addressOf("plants/export", parametersOf(asked, places))}>Export these</a>
            </nav>
          `
        }
        ${chosen !== null && html`<${WholePlant} plant=${chosen} onClose=${() => this.setState({ chosen: null })} />`}
      </section>
    `;
  }

  form() {
    const { search, isBusy } = this.state;
    const way = ways[/** @type {keyof typeof ways} */ (search.by)];
    return html`
      <form class="search" role="search" aria-label="Plants" onSubmit=${(/** @type {SubmitEvent} */ event) => this.submit(event)}>
        <select
          name="by"
          aria-label="Search by"
          value=${search.by}
          onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
            this.setState({ search: { ...search, by: event.currentTarget.value } })}
        >
          ${Object.entries(ways).map(([by, { label }]) => html`<option value=${by}>${label}</option>`)}
        </select>
        <input
          name="text"
          type="search"
          aria-label=${way.label}
          placeholder=${way.hint}
          disabled=${search.by === "newest"}
          value=${search.by === "newest" ? "" : search.text}
          autocomplete="off"
          spellcheck=${false}
          onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
            this.setState({ search: { ...search, text: event.currentTarget.value } })}
        />
        <button disabled=${isBusy}>Search</button>
      </form>
    `;
  }

  /** @param {Listed} listed */
  table({ plants }) {
    const { fresh, asked } = this.state;
    if (plants.length === 0) return html`<p class="nothing">${nothingFor(asked)}</p>`;
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label="List of plants">
        <table>
          <thead>
            <tr><th scope="col" class="number">Id</th><th scope="col">Name</th><th scope="col">Tag</th></tr>
          </thead>
          <tbody>
            ${plants.map(
              ({ id, name, tag, isTruncated }) => html`
                <tr key=${id} class=${fresh.has(id) ? "fresh" : ""}>
                  <td class="number">
                    <button type="button" class="link" aria-label=${`Plant ${id}`} onClick=${() => this.choose(id)}>${id}</button>
                  </td>
                  <td class="text"><span>${foreign(name)}${isTruncated && html`<span class="faint"> …</span>`}</span></td>
                  <td class="text tag">${tag !== null && html`<span class="chip">${foreign(tag)}</span>`}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    `;
  }
}

/**
 * @param {Search} asked
 * @param {(string | null)[]} places
 * @returns {Record<string, string>}
 */
function parametersOf({ by, text }, places) {
  const after = places.at(-1) ?? null;
  return { by, ...(text === "" ? {} : { text }), ...(after === null ? {} : { after }) };
}
