// Shows the list of plants: its search, its pages, and the plant that is open. What is shown is in
// the address, see address.ts.

import { capitalized, withArticle } from "../../contract/words.ts";
import type { PageField } from "../page-contract.ts";
import type { PlantCount } from "../reads/plant-count.ts";
import { type Address, linkTo, readAddress, readCollection, showAddress } from "./address.ts";
import { type Answer, get } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatBytes, formatInteger } from "./formats.ts";
import { useListener, useLoaded } from "./hooks.ts";
import { useEffect, useRef, useState } from "./library.js";
import { html, onSubmit, onValue, untrustedText } from "./markup.ts";
import { PlantDialog } from "./plant-dialog.ts";
import { labelOf } from "./plant-draft.ts";
import { PlantTable } from "./plant-table.ts";
import { filterExamples, parseQuery, withFilter } from "./query.ts";
import { isFull, type Page, useSearch } from "./search.ts";
import { Selection } from "./selection.ts";
import { collection, collectionNamed, formatPlants } from "./shown-contract.ts";

type Count = Answer<PlantCount["read"]>;

/** Debounce delay for search-as-you-type. */
const typingMs = 250;

/** If more fields are searched, the help of the search does not name them. */
const namedFieldsMax = 3;

function searchHelp(): string {
  const { one, searched } = collection;
  if (searched.length === 0) return "";
  const names = searched.map((field) => labelOf(field).toLowerCase()).join(" or ");
  const parts = searched.length <= namedFieldsMax ? names : `the texts of ${withArticle(one)}`;
  return `Any parts of ${parts}, in any order. `;
}

export function Plants({ tick, onAdd }: { tick: number; onAdd: () => void }) {
  const [address, setAddress] = useState(readAddress);
  /** The search field, which may not have been submitted. */
  const [query, setQuery] = useState(address.query);
  /** Counts the searches, so that the same one is loaded again when it is submitted again. */
  const [asks, setAsks] = useState(0);
  /** The ids of the plants whose boxes are checked, also those on other pages. */
  const [selected, setSelected] = useState(new Set<string>());
  /** Edits in this page, after which the list and the count are loaded again. */
  const [edits, setEdits] = useState(0);
  /** The versions of the plants as they were last shown, by their ids. */
  const versions = useRef(new Map<string, string>());
  const own = useRef(collection);
  const section = useRef<HTMLElement>(null);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  /** New plants may appear on a first page. */
  const isLive = address.query === "" && address.after === "";
  const { page, isRunning, stop, resume } = useSearch(address, [asks, isLive ? tick : 0, edits]);
  const { problem } = parseQuery(address.query);
  // After the first rows: counting two million plants takes a processor for 150 ms.
  const countsLater = page === null && problem === "";
  const { data: count } = useLoaded(
    async () => (countsLater ? null : await get<Count>("count")),
    [tick, edits, countsLater],
    (found) => found?.plants === null,
  );
  for (const { id, version } of page?.plants ?? []) versions.current.set(id, version);
  useEffect(() => () => clearTimeout(typing.current), []);
  useEffect(() => setSelected(new Set()), [page?.query]);

  const go = (change: Partial<Address>, how: "push" | "replace" = "push") => {
    const next = { ...readAddress(), ...change };
    showAddress(next, how);
    setAddress(next);
  };
  const search = (typed: string, how: "push" | "replace") => {
    clearTimeout(typing.current);
    setQuery(typed);
    go({ query: typed, after: "" }, how);
    setAsks((all) => all + 1);
  };
  const type = (typed: string) => {
    setQuery(typed);
    clearTimeout(typing.current);
    typing.current = setTimeout(() => search(typed, "replace"), typingMs);
  };
  const turn = (after: string) => {
    go({ after });
    section.current?.scrollIntoView({ block: "start" });
  };
  const edited = () => setEdits((all) => all + 1);
  // A step in the history of the browser, or a link.
  useListener(window, "popstate", () => {
    // One of another collection is not for this list.
    if (collectionNamed(readCollection()) !== own.current) return;
    const next = readAddress();
    setAddress(next);
    setQuery(next.query);
  });

  return html`
    <section class="card plants" aria-labelledby="plants-title" ref=${section}>
      <header>
        <h2 id="plants-title">${capitalized(collection.many)}</h2>
        <p class="note count">${count !== null && countText(count)}</p>
        <button type="button" class="main" onClick=${onAdd}>Add ${withArticle(collection.one)}</button>
      </header>
      <form class="inline" role="search" aria-label=${capitalized(collection.many)} onSubmit=${onSubmit(() => search(query, "push"))}>
        <input
          name="query"
          class="grow"
          type="search"
          aria-label=${`Search ${collection.many}`}
          aria-describedby="search-help"
          placeholder="Words or an id"
          value=${query}
          autocomplete="off"
          spellcheck=${false}
          onInput=${onValue(type)}
        />
        <button>Search</button>
      </form>
      <p class="note" id="search-help">
        ${searchHelp()}Filters: ${filterExamples().map((example) => html`<code>${example}</code> `)}
      </p>
      <${ErrorMessage} text=${problem === "" ? (page?.error ?? "") : problem} />
      ${isRunning && html`<${Progress} page=${page} total=${count?.plants ?? null} onStop=${stop} />`}
      <${Selection} ids=${selected} versions=${versions.current} query=${page?.query ?? ""} onSelect=${setSelected} onEdited=${edited} />
      ${
        page !== null &&
        html`
          ${!isRunning && html`<p class="note" role="status">${captionOf(page)}</p>`}
          ${
            page.plants.length > 0 &&
            html`<${PlantTable}
              plants=${page.plants}
              selected=${selected}
              linkOf=${(id: string) => linkTo({ ...address, plant: id })}
              onOpen=${(id: string) => go({ plant: id })}
              onSelect=${setSelected}
              onFilter=${(field: PageField, value: string) => search(withFilter(query, field, value), "push")}
            />`
          }
          <nav class="pages" aria-label="Pages">
            ${page.after !== "" && html`<button type="button" onClick=${() => turn("")}>First page</button>`}
            ${page.next !== null && isFull(page) && html`<button type="button" onClick=${() => turn(page.next ?? "")}>Next page</button>`}
            ${page.next !== null && !isFull(page) && !isRunning && html`<button type="button" onClick=${resume}>Continue the search</button>`}
          </nav>
        `
      }
      ${
        address.plant !== "" &&
        html`<${PlantDialog}
          key=${address.plant}
          id=${address.plant}
          onEdited=${edited}
          onClose=${() => go({ plant: "" })}
        />`
      }
    </section>
  `;
}

function countText({ plants, countedSoFar, bytes }: Count) {
  const number =
    plants === null ? `counting, ${formatInteger(countedSoFar ?? 0)} so far` : formatPlants(plants);
  return bytes === null ? number : `${number}, ${formatBytes(bytes)}`;
}

/** How far a search is. It appears only if the search takes a while. */
function Progress({ page, total, onStop }: { page: Page | null; total: number | null; onStop: () => void }) {
  const { compared = 0, plants = [] } = page ?? {};
  const of = total === null ? "" : ` of ${formatInteger(total)}`;
  return html`
    <div class="inline searching">
      <p class="grow" role="status">
        Searching… ${compared > 0 && `${formatInteger(compared)}${of} ${collection.many} compared, ${formatInteger(plants.length)} found.`}
        <progress aria-label="Searching" value=${total === null || compared === 0 ? null : compared} max=${total ?? 1}></progress>
      </p>
      <button type="button" onClick=${onStop}>Stop</button>
    </div>
  `;
}

function captionOf(page: Page) {
  const { query, plants, next, compared, error } = page;
  if (error !== "" && plants.length === 0) return "";
  const found =
    plants.length === 0 ? html`No ${collection.one} was found` : `${formatPlants(plants.length)} found`;
  if (next !== null && !isFull(page))
    return html`${found} among ${formatPlants(compared)}, down to the id ${next}.`;
  if (query.trim() !== "")
    return html`${found}${plants.length === 0 && html` for ${untrustedText(query)}`}${isFull(page) && " on this page"}.`;
  return plants.length === 0
    ? `There are no ${collection.many} yet. Add one here, or send POST ${collection.path}.`
    : "";
}
