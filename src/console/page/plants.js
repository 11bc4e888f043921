// The list of plants: search, orders, pages and export. What is shown is in the address, see
// address.js.

import { linkTo, readAddress, showAddress } from "./address.js";
import { apiUrl, errorMessage, get, RequestError } from "./api.js";
import { ErrorMessage } from "./dialogs.js";
import { formatDate, html, untrustedText } from "./format.js";
import { Inventory } from "./inventory.js";
import { Component } from "./library/preact.js";
import { PlantDialog } from "./plant.js";
import { fieldNames, labelOf, otherFields, typeOf } from "./plant-fields.js";
import { parseQuery, withTag } from "./query.js";
import { Selection } from "./selection.js";
import { exactTime } from "./units.js";

/**
 * @typedef {import("./address.js").Address} Address
 * @typedef {import("./address.js").Order} Order
 * @typedef {{ id: string, name: string, tag: string | null, isTruncated: boolean, createdAt: string | null,
 *   token: string | null } & Readonly<Record<string, import("./plant-fields.js").Value>>} PlantSummary
 * @typedef {{ plants: PlantSummary[], order: Order, isDescending: boolean,
 *   previous: string | null, next: string | null, searchedTo: string | null, hasPlantWithId: boolean,
 *   isIndexed: boolean }} Page
 * @typedef {{ address: Address, query: string, shown: Address, page: Page | null, error: string, isBusy: boolean,
 *   isSlow: boolean, newIds: Set<string>, selected: Set<string>, edits: number }} State
 */

/**
 * Results appear while the operator types if the last search took less than this; otherwise with
 * Enter.
 */
const quickMs = 400;

/** Debounce delay for search-as-you-type. */
const typingMs = 150;

/** A search that takes longer shows that it is running. */
const visibleMs = 250;

const filterExamples = [
  "300-400",
  "tag:tropical",
  "tag:none",
  "token:ci",
  "created:today",
  "created:2026-11-01..2026-11-07",
];

/** The fields whose words a search finds, such as "name or tag". */
const searchedFields = fieldNames
  .filter((field) => typeOf(field) === "text")
  .map((field) => labelOf(field).toLowerCase())
  .join(" or ");

/** @type {Record<Order, string>} */
const columnNames = { id: "Id", name: "Name", tag: "Tag", created: "Created" };

/** @extends {Component<{ tick: number, onAdd: () => void, onSearch: (query: string) => void }, State>} */
export class Plants extends Component {
  /** @override @type {State} */
  state = {
    /** The address to show. */
    address: readAddress(),
    /** The search field, which may not have been submitted. */
    query: readAddress().query,
    /** The address of `page`. */
    shown: readAddress(),
    page: null,
    error: "",
    isBusy: false,
    /** Whether the running search is slow enough to be indicated. */
    isSlow: false,
    newIds: new Set(),
    /** The ids of the plants whose boxes are checked, also those on other pages. */
    selected: new Set(),
    /** Edits in this page, which the figures are loaded again after. */
    edits: 0,
  };

  /** @override */
  componentDidMount() {
    addEventListener("popstate", this.follow);
    void this.load();
  }

  /** @override */
  componentWillUnmount() {
    removeEventListener("popstate", this.follow);
    clearTimeout(this.typing);
  }

  /**
   * Reloads a first page that new plants may appear on.
   *
   * @override
   * @param {{ tick: number }} previous
   */
  componentDidUpdate(previous) {
    const { query, after, before } = this.state.shown;
    const isLive = query === "" && after === "" && before === "";
    if (previous.tick !== this.props.tick && isLive && !this.state.isBusy) void this.reload();
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  typing = undefined;
  /** Counts requests for pages. Only the response to the last one is shown. */
  requests = 0;
  isReloading = false;
  /** How long the last search took. */
  lastMs = 0;

  /** Shows what the address of the browser says: after a step in its history, or a link. */
  follow = () => {
    const address = readAddress();
    const { shown } = this.state;
    this.setState({ address, query: address.query });
    if (apiParameters(address) !== apiParameters(shown)) void this.load(address);
  };

  /**
   * @param {Partial<Address>} change
   * @param {"push" | "replace"} how
   */
  go(change, how = "push") {
    const address = { ...this.state.address, ...change };
    showAddress(address, how);
    this.setState({ address });
    return address;
  }

  /** Loads the same page again, and marks its new plants. */
  async reload() {
    if (this.isReloading) return;
    this.isReloading = true;
    const request = ++this.requests;
    const { shown } = this.state;
    try {
      /** @type {Page} */
      const page = await get(`plants?${apiParameters(shown)}`);
      const previous = this.state.page ?? page;
      const previousIds = new Set(previous.plants.map(({ id }) => id));
      const added = page.plants.map(({ id }) => id).filter((id) => !previousIds.has(id));
      // A page of new plants only is not marked: its animation with every reload took a browser
      // half of a processor.
      const newIds = new Set(added.length < page.plants.length ? added : []);
      if (request === this.requests) this.setState({ page, newIds, error: "" });
    } catch (error) {
      // The header of the page shows whether the server is reachable.
      const isReachable = !(error instanceof RequestError) || error.status !== 0;
      if (request === this.requests && isReachable) this.setState({ error: errorMessage(error) });
    }
    this.isReloading = false;
  }

  /** @param {Address} address */
  async load(address = this.state.address) {
    const request = ++this.requests;
    const { problem } = parseQuery(address.query);
    if (problem !== "") {
      this.setState({ error: problem, isBusy: false, isSlow: false });
      return;
    }
    this.setState({ isBusy: true });
    const startedAt = performance.now();
    const slow = setTimeout(() => request === this.requests && this.setState({ isSlow: true }), visibleMs);
    try {
      /** @type {Page} */
      const page = await get(`plants?${apiParameters(address)}`);
      const isSameSearch = address.query === this.state.shown.query;
      if (request === this.requests)
        this.setState({
          shown: address,
          page,
          newIds: new Set(),
          error: "",
          selected: isSameSearch ? this.state.selected : new Set(),
        });
      this.props.onSearch(address.query);
    } catch (error) {
      // Replaces the results, which would be those of another search.
      if (request === this.requests)
        this.setState({ shown: address, page: null, error: errorMessage(error) });
    }
    clearTimeout(slow);
    if (address.query !== "") this.lastMs = performance.now() - startedAt;
    if (request === this.requests) this.setState({ isBusy: false, isSlow: false });
  }

  /** @param {string} query */
  type(query) {
    this.setState({ query });
    clearTimeout(this.typing);
    if (this.lastMs < quickMs) this.typing = setTimeout(() => this.search("replace"), typingMs);
  }

  /** @param {"push" | "replace"} how */
  search(how) {
    clearTimeout(this.typing);
    const { query } = this.state;
    void this.load(this.go({ query, after: "", before: "" }, how));
  }

  /** @param {string} tag */
  searchTag(tag) {
    this.setState(
      ({ query }) => ({ query: withTag(query, tag) }),
      () => this.search("push"),
    );
  }

  /** @param {Order} order */
  sort(order) {
    const { address } = this.state;
    const isDescending =
      address.order === order ? !address.isDescending : order === "id" || order === "created";
    void this.load(this.go({ order, isDescending, after: "", before: "" }));
  }

  /** @param {{ after?: string, before?: string }} position */
  turn({ after = "", before = "" }) {
    void this.load(this.go({ after, before })).then(() => {
      const section = /** @type {Element} */ (this.base);
      section.querySelector(".results")?.scrollIntoView({ block: "nearest" });
      section.scrollIntoView({ block: "start" });
    });
  }

  edited() {
    this.setState(({ edits }) => ({ edits: edits + 1 }));
    void this.reload();
  }

  /** @override */
  render() {
    const { address, shown, page, error, isSlow, selected, edits } = this.state;
    const { tick, onAdd } = this.props;
    return html`
      <section class="card plants" aria-labelledby="plants-title">
        <header>
          <h2 id="plants-title">Plants</h2>
          <button type="button" class="main" onClick=${onAdd}>Add a plant</button>
        </header>
        <${Inventory} tick=${tick + edits} onTag=${(/** @type {string} */ tag) => this.searchTag(tag)} />
        ${this.form()}
        <${ErrorMessage} text=${error} />
        <div class="results">
          <p class="note" role="status">
            ${isSlow ? html`Searching… <progress aria-label="Searching"></progress>` : page === null ? (error === "" ? "Loading…" : "") : this.caption(page)}
          </p>
          <${Selection}
            ids=${selected}
            query=${shown.query}
            onSelect=${(/** @type {Set<string>} */ ids) => this.setState({ selected: ids })}
            onEdited=${() => this.edited()}
          />
          ${page !== null && this.table(page)}
          ${page !== null && this.pageControls(page)}
        </div>
        ${
          address.plant !== "" &&
          html`<${PlantDialog}
            key=${address.plant}
            id=${address.plant}
            onEdited=${() => this.edited()}
            onClose=${() => this.go({ plant: "" })}
          />`
        }
      </section>
    `;
  }

  form() {
    const { query, shown } = this.state;
    const waitsForEnter = this.lastMs >= quickMs && query !== shown.query;
    return html`
      <form
        class="inline"
        role="search"
        aria-label="Plants"
        onSubmit=${(/** @type {SubmitEvent} */ event) => {
          event.preventDefault();
          this.search("push");
        }}
      >
        <input
          name="query"
          class="grow"
          type="search"
          aria-label="Search plants"
          aria-describedby="search-help"
          placeholder="Words, an id, or tag:tropical"
          value=${query}
          autocomplete="off"
          spellcheck=${false}
          onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) => this.type(event.currentTarget.value)}
        />
        <button>Search</button>
      </form>
      <p class="note" id="search-help">
        ${waitsForEnter && "Press Enter to search. "}
        Any parts of a ${searchedFields}, in any order. Filters: ${filterExamples.map((example) => html`<code>${example}</code> `)}
      </p>
    `;
  }

  /** @param {Page} page */
  caption({ plants, order, isDescending, searchedTo, hasPlantWithId, isIndexed }) {
    const { shown } = this.state;
    const count = plants.length === 1 ? "1 plant" : `${plants.length} plants`;
    const sorted = `by ${order === "created" ? "creation" : order}, ${isDescending ? "descending" : "ascending"}`;
    if (shown.query.trim() === "") {
      const missing = { tag: "a tag", created: "a time of creation" };
      const unlisted = order === "tag" || order === "created" ? missing[order] : undefined;
      return `Sorted ${sorted}${unlisted === undefined ? "" : `; plants without ${unlisted} are not in this order`}.`;
    }
    if (searchedTo !== null)
      return `${count} found with ids ${isDescending ? "from" : "up to"} ${searchedTo}${isDescending ? " up" : ""}. The search stopped at its time limit${isIndexed ? "" : "; the search index makes it faster"}.`;
    if (hasPlantWithId && plants.length === 1) return `The plant with the id ${shown.query.trim()}.`;
    return `${count} on this page, sorted ${sorted}.`;
  }

  /** @param {Page} page */
  table({ plants, order, isDescending, searchedTo }) {
    const { newIds, shown, address, selected } = this.state;
    const isPageSelected = plants.every(({ id }) => selected.has(id));
    const pageIds = plants.map(({ id }) => id);
    if (plants.length === 0) return html`<p class="empty">${emptyListText(shown, searchedTo)}</p>`;
    const header = (/** @type {Order} */ column) =>
      this.columnHeader(column, column === order ? isDescending : null);
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label="List of plants">
        <table class="list">
          <thead>
            <tr>
              <th scope="col" class="check">
                <input type="checkbox" aria-label="Select the plants of this page" checked=${isPageSelected} onChange=${() => this.select(pageIds, !isPageSelected)} />
              </th>
              ${header("id")} ${header("name")} ${header("tag")}
              ${otherFields.map((field) => html`<th scope="col">${labelOf(field)}</th>`)}
              ${header("created")}
            </tr>
          </thead>
          <tbody>
            ${plants.map(
              ({ id, name, tag, isTruncated, createdAt, token, ...others }) => html`
                <tr key=${id} class=${newIds.has(id) ? "new" : ""} onClick=${(/** @type {MouseEvent} */ event) => this.openRow(event, id)}>
                  <td class="check">
                    <input type="checkbox" aria-label=${`Select plant ${id}`} checked=${selected.has(id)} onChange=${() => this.select([id], !selected.has(id))} />
                  </td>
                  <td class="number id">
                    <a
                      href=${linkTo({ ...address, plant: id })}
                      aria-label=${`Plant ${id}`}
                      onClick=${(/** @type {MouseEvent} */ event) => this.openLink(event, id)}
                    >${id}</a>
                  </td>
                  <td class="text main"><span title=${name}>${untrustedText(name)}${isTruncated && html`<span class="faint"> …</span>`}</span></td>
                  <td class="text tag">
                    ${
                      tag !== null &&
                      html`<button type="button" class="chip" title=${tag} aria-label=${`Search for the tag ${tag}`} onClick=${() => this.searchTag(tag)}>${untrustedText(tag)}</button>`
                    }
                  </td>
                  ${otherFields.map((field) => html`<td class="text">${shownValue(others[field] ?? null)}</td>`)}
                  <td class="text created">
                    ${createdAt !== null && html`<span title=${token === null ? exactTime(createdAt) : `${exactTime(createdAt)} by ${token}`}>${formatDate(createdAt, "short")}${token !== null && html` <span class="faint">by ${untrustedText(token)}</span>`}</span>`}
                  </td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    `;
  }

  /**
   * @param {Order} column
   * @param {boolean | null} isDescending null if the plants are not sorted by this column.
   */
  columnHeader(column, isDescending) {
    // Results of a search come by id.
    const isFixed = column !== "id" && this.state.shown.query !== "";
    const [direction, arrow] =
      isDescending === null ? ["none", ""] : isDescending ? ["descending", " ↓"] : ["ascending", " ↑"];
    return html`
      <th scope="col" class=${`${column} ${column === "id" ? "number" : ""}`} aria-sort=${direction}>
        <button
          type="button"
          class="link"
          disabled=${isFixed}
          title=${isFixed ? "The results of a search come by id." : `Sort by ${columnNames[column].toLowerCase()}`}
          onClick=${() => this.sort(column)}
        >
          ${columnNames[column]}<span aria-hidden="true">${arrow}</span>
        </button>
      </th>
    `;
  }

  /**
   * @param {string[]} ids
   * @param {boolean} isSelected
   */
  select(ids, isSelected) {
    const selected = new Set(this.state.selected);
    for (const id of ids) {
      if (isSelected) selected.add(id);
      else selected.delete(id);
    }
    this.setState({ selected });
  }

  /**
   * A click anywhere on a row opens its plant, but for one on a control, or one that ends a
   * selection of text.
   *
   * @param {MouseEvent} event
   * @param {string} id
   */
  openRow(event, id) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("a, button, .check") !== null || String(getSelection()) !== "") return;
    this.go({ plant: id });
  }

  /**
   * @param {MouseEvent} event
   * @param {string} id
   */
  openLink(event, id) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go({ plant: id });
  }

  /** @param {Page} page */
  pageControls({ previous, next, searchedTo }) {
    const { shown, isBusy } = this.state;
    const isFirst = shown.after === "" && shown.before === "";
    return html`
      <nav class="pages" aria-label="Pages">
        <button type="button" disabled=${isFirst || isBusy} onClick=${() => this.turn({})}>First</button>
        <button type="button" disabled=${previous === null || isBusy} onClick=${() => this.turn({ before: previous ?? "" })}>Previous</button>
        <button type="button" disabled=${next === null || isBusy} onClick=${() => this.turn({ after: next ?? "" })}>
          ${searchedTo === null ? "Next" : "Continue the search"}
        </button>
        <a class="button" download="plants.ndjson" href=${apiUrl(`plants/export?${apiParameters(shown)}`, {})}>
          Export this page (NDJSON)
        </a>
      </nav>
    `;
  }
}

/** @param {import("./plant-fields.js").Value} value */
function shownValue(value) {
  return value !== null && html`<span title=${value}>${untrustedText(String(value))}</span>`;
}

/**
 * @param {Address} address
 * @param {string | null} searchedTo
 */
function emptyListText({ query, order }, searchedTo) {
  if (searchedTo !== null) return "Nothing was found so far. Continue the search below.";
  if (query.trim() !== "") return html`No plant was found for ${untrustedText(query)}.`;
  if (order === "created") return "No plant has a time of creation.";
  if (order === "tag") return "No plant has a tag.";
  return "There are no plants yet. Add one here, or send POST /plants.";
}

/**
 * The parameters of the request for what an address shows.
 *
 * @param {Address} address
 */
function apiParameters({ query, order, isDescending, after, before }) {
  const parameters = new URLSearchParams([
    ...parseQuery(query).parameters,
    ["sort", order],
    ["direction", isDescending ? "descending" : "ascending"],
  ]);
  if (after !== "") parameters.set("after", after);
  else if (before !== "") parameters.set("before", before);
  return String(parameters);
}
