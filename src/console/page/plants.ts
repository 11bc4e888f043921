// The list of plants: search, orders, pages and export. What is shown is in the address, see
// address.js.

import { fieldNames, typeOf } from "../../core/contract/fields.ts";
import type { Order } from "../plant-list.ts";
import type { Plants as PlantCalls } from "../plants.ts";
import { type Address, linkTo, readAddress, showAddress } from "./address.ts";
import { type Answer, errorMessage, get, RequestError } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatDate, html, onValue, untrustedText } from "./format.ts";
import { Inventory } from "./inventory.ts";
import { Component } from "./library.js";
import { PlantDialog } from "./plant.ts";
import { labelOf, otherFields, type Value } from "./plant-fields.ts";
import { parseQuery, withTag } from "./query.ts";
import { Selection } from "./selection.ts";
import { exactTime } from "./units.ts";

type Page = Answer<PlantCalls["list"]>;

interface State {
  address: Address;
  query: string;
  shown: Address;
  page: Page | null;
  error: string;
  isBusy: boolean;
  isSlow: boolean;
  newIds: Set<string>;
  selected: Set<string>;
  edits: number;
}

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

const columnNames: Record<Order, string> = { id: "Id", name: "Name", tag: "Tag", created: "Created" };

export class Plants extends Component<
  { tick: number; onAdd: () => void; onSearch: (query: string) => void },
  State
> {
  override state: State = {
    address: readAddress(),
    /** The search field, which may not have been submitted. */
    query: readAddress().query,
    /** The address of `page`. */
    shown: readAddress(),
    page: null,
    error: "",
    isBusy: false,
    isSlow: false,
    newIds: new Set(),
    /** The ids of the plants whose boxes are checked, also those on other pages. */
    selected: new Set(),
    /** Edits in this page, which the figures are loaded again after. */
    edits: 0,
  };

  override componentDidMount() {
    addEventListener("popstate", this.follow);
    void this.load();
  }

  override componentWillUnmount() {
    removeEventListener("popstate", this.follow);
    clearTimeout(this.typing);
  }

  /** Reloads a first page that new plants may appear on. */
  override componentDidUpdate(previous: { tick: number }) {
    const { query, after, before } = this.state.shown;
    const isLive = query === "" && after === "" && before === "";
    if (previous.tick !== this.props.tick && isLive && !this.state.isBusy) void this.reload();
  }

  typing: ReturnType<typeof setTimeout> | undefined = undefined;
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

  go(change: Partial<Address>, how: "push" | "replace" = "push") {
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
      const page: Page = await get(`plants?${apiParameters(shown)}`);
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

  async load(address: Address = this.state.address) {
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
      const page: Page = await get(`plants?${apiParameters(address)}`);
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

  type(query: string) {
    this.setState({ query });
    clearTimeout(this.typing);
    if (this.lastMs < quickMs) this.typing = setTimeout(() => this.search("replace"), typingMs);
  }

  search(how: "push" | "replace") {
    clearTimeout(this.typing);
    const { query } = this.state;
    void this.load(this.go({ query, after: "", before: "" }, how));
  }

  searchTag(tag: string) {
    this.setState(
      ({ query }) => ({ query: withTag(query, tag) }),
      () => this.search("push"),
    );
  }

  sort(order: Order) {
    const { address } = this.state;
    const isDescending =
      address.order === order ? !address.isDescending : order === "id" || order === "created";
    void this.load(this.go({ order, isDescending, after: "", before: "" }));
  }

  turn({ after = "", before = "" }: { after?: string; before?: string }) {
    void this.load(this.go({ after, before })).then(() => {
      const section = this.base as Element;
      section.querySelector(".results")?.scrollIntoView({ block: "nearest" });
      section.scrollIntoView({ block: "start" });
    });
  }

  edited() {
    this.setState(({ edits }) => ({ edits: edits + 1 }));
    void this.reload();
  }

  override render() {
    const { address, shown, page, error, isSlow, selected, edits } = this.state;
    const { tick, onAdd } = this.props;
    return html`
      <section class="card plants" aria-labelledby="plants-title">
        <header>
          <h2 id="plants-title">Plants</h2>
          <button type="button" class="main" onClick=${onAdd}>Add a plant</button>
        </header>
        <${Inventory} tick=${tick + edits} onTag=${(tag: string) => this.searchTag(tag)} />
        ${this.form()}
        <${ErrorMessage} text=${error} />
        <div class="results">
          <p class="note" role="status">
            ${isSlow ? html`Searching… <progress aria-label="Searching"></progress>` : page === null ? (error === "" ? "Loading…" : "") : this.caption(page)}
          </p>
          <${Selection}
            ids=${selected}
            query=${shown.query}
            onSelect=${(ids: Set<string>) => this.setState({ selected: ids })}
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
        onSubmit=${(event: SubmitEvent) => {
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
          onInput=${onValue((query) => this.type(query))}
        />
        <button>Search</button>
      </form>
      <p class="note" id="search-help">
        ${waitsForEnter && "Press Enter to search. "}
        Any parts of a ${searchedFields}, in any order. Filters: ${filterExamples.map((example) => html`<code>${example}</code> `)}
      </p>
    `;
  }

  caption({ plants, order, isDescending, searchedTo, hasPlantWithId, isIndexed }: Page) {
    const { shown } = this.state;
    const count = plants.length === 1 ? "1 plant" : `${plants.length} plants`;
    const sorted = `by ${order === "created" ? "creation" : order}, ${isDescending ? "descending" : "ascending"}`;
    if (shown.query.trim() === "") {
      const missing: Partial<Record<Order, string>> = { tag: "a tag", created: "a time of creation" };
      const unlisted = missing[order];
      return `Sorted ${sorted}${unlisted === undefined ? "" : `; plants without ${unlisted} are not in this order`}.`;
    }
    if (searchedTo !== null)
      return `${count} found with ids ${isDescending ? "from" : "up to"} ${searchedTo}${isDescending ? " up" : ""}. The search stopped at its time limit${isIndexed ? "" : "; the search index makes it faster"}.`;
    if (hasPlantWithId && plants.length === 1) return `The plant with the id ${shown.query.trim()}.`;
    return `${count} on this page, sorted ${sorted}.`;
  }

  table({ plants, order, isDescending, searchedTo }: Page) {
    const { newIds, shown, address, selected } = this.state;
    const isPageSelected = plants.every(({ id }) => selected.has(id));
    const pageIds = plants.map(({ id }) => id);
    if (plants.length === 0) return html`<p class="empty">${emptyListText(shown, searchedTo)}</p>`;
    const header = (column: Order) => this.columnHeader(column, column === order ? isDescending : null);
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
                <tr key=${id} class=${newIds.has(id) ? "new" : ""} onClick=${(event: MouseEvent) => this.openRow(event, id)}>
                  <td class="check">
                    <input type="checkbox" aria-label=${`Select plant ${id}`} checked=${selected.has(id)} onChange=${() => this.select([id], !selected.has(id))} />
                  </td>
                  <td class="number id">
                    <a
                      href=${linkTo({ ...address, plant: id })}
                      aria-label=${`Plant ${id}`}
                      onClick=${(event: MouseEvent) => this.openLink(event, id)}
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

  /** @param isDescending null if the plants are not sorted by this column. */
  columnHeader(column: Order, isDescending: boolean | null) {
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

  select(ids: string[], isSelected: boolean) {
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
   */
  openRow(event: MouseEvent, id: string) {
    const target = event.target as Element;
    if (target.closest("a, button, .check") !== null || String(getSelection()) !== "") return;
    this.go({ plant: id });
  }

  openLink(event: MouseEvent, id: string) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go({ plant: id });
  }

  pageControls({ previous, next, searchedTo }: Page) {
    const { shown, isBusy } = this.state;
    const isFirst = shown.after === "" && shown.before === "";
    return html`
      <nav class="pages" aria-label="Pages">
        <button type="button" disabled=${isFirst || isBusy} onClick=${() => this.turn({})}>First</button>
        <button type="button" disabled=${previous === null || isBusy} onClick=${() => this.turn({ before: previous ?? "" })}>Previous</button>
        <button type="button" disabled=${next === null || isBusy} onClick=${() => this.turn({ after: next ?? "" })}>
          ${searchedTo === null ? "Next" : "Continue the search"}
        </button>
      </nav>
    `;
  }
}

function shownValue(value: Value) {
  return value !== null && html`<span title=${value}>${untrustedText(String(value))}</span>`;
}

function emptyListText({ query, order }: Address, searchedTo: string | null) {
  if (searchedTo !== null) return "Nothing was found so far. Continue the search below.";
  if (query.trim() !== "") return html`No plant was found for ${untrustedText(query)}.`;
  if (order === "created") return "No plant has a time of creation.";
  if (order === "tag") return "No plant has a tag.";
  return "There are no plants yet. Add one here, or send POST /plants.";
}

function apiParameters({ query, order, isDescending, after, before }: Address) {
  const parameters = new URLSearchParams([
    ...parseQuery(query).parameters,
    ["sort", order],
    ["direction", isDescending ? "descending" : "ascending"],
  ]);
  if (after !== "") parameters.set("after", after);
  else if (before !== "") parameters.set("before", before);
  return String(parameters);
}
