// The list of plants: search, pages, export, and a dialog with one plant in full.

import { apiUrl, errorMessage, get, RequestError } from "./api.js";
import { Dialog, ErrorMessage } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";

/**
 * @typedef {{ id: string, name: string, tag: string | null }} Plant
 * @typedef {Plant & { isTruncated: boolean }} PlantSummary
 * @typedef {{ plants: PlantSummary[], order: "newest" | "id" | "name", from: "store" | "memory", next: string | null,
 *   searchedDownTo: string | null }} Page
 * @typedef {{ by: string, text: string }} Search
 * @typedef {{ form: Search, search: Search, page: Page | null, cursors: (string | null)[], error: string,
 *   reloadError: string, isBusy: boolean, newIds: Set<string>, opened: Plant | null }} State
 */

const newest = { by: "newest", text: "" };

const searchKinds = {
  newest: { label: "Newest first", placeholder: "" },
  id: { label: "Id", placeholder: "42, or empty for highest first" },
  name: { label: "Name begins with", placeholder: "Mons" },
  tag: { label: "Tag is", placeholder: "tropical" },
};

/** Characters of a name or tag that the dialog shows; the export has all. */
const shownCharactersMax = 100_000;

/** @extends {Component<{ tick: number, onAdd: () => void, onSearch: (search: Search) => void }, State>} */
export class Plants extends Component {
  /** @override @type {State} */
  state = {
    /** The search in the form, which may not have been submitted. */
    form: newest,
    /** The search of the page that is shown. */
    search: newest,
    page: null,
    /** The cursors of all pages up to the one that is shown. */
    cursors: [null],
    error: "",
    /** Why the last reload failed. */
    reloadError: "",
    isBusy: false,
    newIds: new Set(),
    opened: null,
  };

  /** @override */
  componentDidMount() {
    void this.reload(newest, [null]);
  }

  /**
   * Reloads a first page that new plants may appear on.
   *
   * @override
   * @param {{ tick: number }} previous
   */
  componentDidUpdate(previous) {
    const { search, cursors, isBusy } = this.state;
    const isLive =
      (search.by === "newest" || search.by === "id") && search.text === "" && cursors.length === 1;
    if (previous.tick !== this.props.tick && isLive && !isBusy) void this.reload(search, cursors);
  }

  /** Counts requests for pages. Only the response to the last one is shown. */
  requests = 0;
  isReloading = false;

  /**
   * Loads the same page again, and marks its new plants.
   *
   * @param {Search} search
   * @param {(string | null)[]} cursors
   */
  async reload(search, cursors) {
    if (this.isReloading) return;
    this.isReloading = true;
    const request = ++this.requests;
    try {
      /** @type {Page} */
      const page = await get("plants", searchParameters(search, cursors));
      const previous = this.state.page ?? page;
      const previousIds = new Set(previous.plants.map(({ id }) => id));
      const added = page.plants.map(({ id }) => id).filter((id) => !previousIds.has(id));
      // A page of new plants only is not marked: its animation with every reload took a browser half of a processor.
      const newIds = new Set(added.length < page.plants.length ? added : []);
      if (request === this.requests) this.setState({ page, newIds, reloadError: "" });
    } catch (error) {
      // The header of the page shows whether the server is reachable.
      const isReachable = !(error instanceof RequestError) || error.status !== 0;
      if (request === this.requests && isReachable) this.setState({ reloadError: errorMessage(error) });
    }
    this.isReloading = false;
  }

  /**
   * @param {Search} search
   * @param {(string | null)[]} cursors
   */
  async load(search, cursors) {
    const request = ++this.requests;
    this.setState({ isBusy: true });
    try {
      /** @type {Page} */
      const page = await get("plants", searchParameters(search, cursors));
      if (request !== this.requests) return;
      this.setState({ search, cursors, page, newIds: new Set(), error: "", reloadError: "", isBusy: false });
      this.props.onSearch(search);
    } catch (error) {
      if (request === this.requests) this.setState({ error: errorMessage(error), isBusy: false });
    }
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    const { by, text } = this.state.form;
    const isInteger = /^\s*-?\d{1,19}\s*$/.test(text);
    if (by === "id" && text.trim() !== "" && !isInteger) {
      this.setState({ error: "An id must be a 64-bit integer, such as 42 or -7." });
      return;
    }
    void this.load({ by, text: by === "newest" ? "" : by === "id" ? text.trim() : text }, [null]);
  }

  /** @param {string} id */
  async open(id) {
    try {
      const opened = await get("plant", { id });
      this.setState({ opened: opened ?? { id, name: "", tag: null } });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { search, page, cursors, error, reloadError, opened } = this.state;
    return html`
      <section class="card plants" aria-labelledby="plants-title">
        <header>
          <h2 id="plants-title">Plants</h2>
          <button type="button" class="main" onClick=${this.props.onAdd}>Add a plant</button>
        </header>
        ${this.form()}
        <${ErrorMessage} text=${error === "" ? reloadError : error} />
        <p class="note" role="status">${page === null ? "Loading…" : listCaption(search, page, cursors)}</p>
        ${page !== null && this.table(page)}
        ${page !== null && this.pageControls(page)}
        ${opened !== null && html`<${PlantDialog} plant=${opened} onClose=${() => this.setState({ opened: null })} />`}
      </section>
    `;
  }

  form() {
    const { form, isBusy } = this.state;
    const kind = searchKinds[/** @type {keyof typeof searchKinds} */ (form.by)];
    return html`
      <form class="search" role="search" aria-label="Plants" onSubmit=${(/** @type {SubmitEvent} */ event) => this.submit(event)}>
        <select
          name="by"
          aria-label="Search by"
          value=${form.by}
          onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
            this.setState({ form: { ...form, by: event.currentTarget.value } })}
        >
          ${Object.entries(searchKinds).map(([by, { label }]) => html`<option value=${by}>${label}</option>`)}
        </select>
        <input
          name="text"
          type="search"
          aria-label=${kind.label}
          placeholder=${kind.placeholder}
          disabled=${form.by === "newest"}
          value=${form.by === "newest" ? "" : form.text}
          autocomplete="off"
          spellcheck=${false}
          onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
            this.setState({ form: { ...form, text: event.currentTarget.value } })}
        />
        <button disabled=${isBusy}>Search</button>
      </form>
    `;
  }

  /** @param {Page} page */
  table({ plants }) {
    const { newIds, search } = this.state;
    if (plants.length === 0) return html`<p class="empty">${emptyListText(search)}</p>`;
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label="List of plants">
        <table>
          <thead>
            <tr><th scope="col" class="number">Id</th><th scope="col">Name</th><th scope="col">Tag</th></tr>
          </thead>
          <tbody>
            ${plants.map(
              ({ id, name, tag, isTruncated }) => html`
                <tr key=${id} class=${newIds.has(id) ? "new" : ""}>
                  <td class="number">
                    <button type="button" class="link" aria-label=${`Plant ${id}`} onClick=${() => this.open(id)}>${id}</button>
                  </td>
                  <td class="text"><span>${untrustedText(name)}${isTruncated && html`<span class="faint"> …</span>`}</span></td>
                  <td class="text tag">${tag !== null && html`<span class="chip">${untrustedText(tag)}</span>`}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    `;
  }

  /** @param {Page} page */
  pageControls({ next, searchedDownTo }) {
    const { search, cursors, isBusy } = this.state;
    const exportUrl = apiUrl("plants/export", searchParameters(search, cursors));
    return html`
      <nav class="pages" aria-label="Pages">
        <button type="button" disabled=${cursors.length === 1 || isBusy} onClick=${() => this.load(search, cursors.slice(0, -1))}>
          Previous
        </button>
        <span class="faint">Page ${cursors.length}</span>
        <button type="button" disabled=${next === null || isBusy} onClick=${() => this.load(search, [...cursors, next])}>
          ${searchedDownTo === null ? "Next" : "Continue the search"}
        </button>
        <a class="button" download="plants.ndjson" href=${exportUrl}>Export this page (NDJSON)</a>
      </nav>
    `;
  }
}

/** @param {{ plant: Plant, onClose: () => void }} properties */
function PlantDialog({ plant: { id, name, tag }, onClose }) {
  return html`
    <${Dialog} title=${`Plant ${id}`} isWide onClose=${onClose}>
      <dl>
        <dt>Name <span class="faint">${formatLength(name)}</span></dt>
        <dd class="full-text" tabindex="0" dir="auto">${untrustedText(name.slice(0, shownCharactersMax))}</dd>
        <dt>Tag <span class="faint">${tag === null ? "" : formatLength(tag)}</span></dt>
        <dd class="full-text" dir="auto">${tag === null ? html`<span class="faint">none</span>` : untrustedText(tag.slice(0, shownCharactersMax))}</dd>
      </dl>
    <//>
  `;
}

/** @param {string} text */
function formatLength(text) {
  const length = Array.from(text).length;
  const truncated =
    text.length > shownCharactersMax
      ? `, the first ${shownCharactersMax.toLocaleString("en-US")} are shown`
      : "";
  return `${length.toLocaleString("en-US")} ${length === 1 ? "character" : "characters"}${truncated}`;
}

/**
 * @param {Search} search
 * @param {Page} page
 * @param {(string | null)[]} cursors
 */
function listCaption({ by, text }, { plants, order, from, next, searchedDownTo }, cursors) {
  const count = plants.length === 1 ? "1 plant" : `${plants.length} plants`;
  if (by === "newest" && from === "memory")
    return next === null
      ? `${count} created by this server, newest first. To record the order of all creates, build the index "newest".`
      : `${count} created by this server, newest first.`;
  if (by === "newest" && order === "id") return "Creation order is not recorded. Showing highest ids first.";
  if (searchedDownTo !== null)
    return `${count} with ids from ${searchedDownTo} up. Without an index the search stopped at its time limit.`;
  if (by === "id" && text !== "") return `${count} with this id.`;
  const orders = { newest: "newest first", id: "highest id first", name: "sorted by name" };
  return `${count} on page ${cursors.length}, ${orders[order]}.`;
}

/** @param {Search} search */
function emptyListText({ by, text }) {
  if (by === "name") return html`No plant here has a name that begins with ${untrustedText(text)}.`;
  if (by === "tag") return html`No plant here has the tag ${untrustedText(text)}.`;
  if (by === "id" && text !== "") return `No plant has the id ${text}.`;
  return "There are no plants yet. Add one here, or send POST /plants.";
}

/**
 * @param {Search} search
 * @param {(string | null)[]} cursors
 * @returns {Record<string, string>}
 */
function searchParameters({ by, text }, cursors) {
  const after = cursors.at(-1) ?? null;
  return { by, ...(text === "" ? {} : { text }), ...(after === null ? {} : { after }) };
}
