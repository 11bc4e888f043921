// The list of plants: search, orders and pages. What is shown is in the address, see address.ts.

import { groupField, textFields } from "../../core/contract/fields.ts";
import type { Order } from "../orders.ts";
import { type Address, linkTo, readAddress, showAddress } from "./address.ts";
import { errorMessage, get } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatCount, html, onSubmit, onValue, untrustedText } from "./format.ts";
import { useListener, useLoaded } from "./hooks.ts";
import { Inventory } from "./inventory.ts";
import { useEffect, useRef, useState } from "./library.js";
import { PlantDialog } from "./plant.ts";
import { groupLabel, labelOf } from "./plant-fields.ts";
import { type Page, PlantTable } from "./plant-table.ts";
import { groupExample, parseQuery, withGroup } from "./query.ts";
import { Selection } from "./selection.ts";

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
  ...(groupField === undefined ? [] : [withGroup("", groupExample), `${groupField}:none`]),
  "token:ci",
  "created:today",
  "created:2026-11-01..2026-11-07",
];

const searchPlaceholder =
  groupField === undefined ? "Words, or an id" : `Words, an id, or ${withGroup("", groupExample)}`;

/** The fields whose words a search finds, such as "name or tag". */
const searchedFields = textFields.map((field) => labelOf(field).toLowerCase()).join(" or ");

/** A page of the list, or why it could not be loaded. */
interface Result {
  key: string;
  address: Address;
  page: Page | null;
  newIds: Set<string>;
  error: string;
}

export function Plants({ tick, onAdd }: { tick: number; onAdd: () => void }) {
  const [address, setAddress] = useState(readAddress);
  /** The search field, which may not have been submitted. */
  const [query, setQuery] = useState(address.query);
  /** Counts the searches, orders and pages that were asked for: each is loaded, also the same again. */
  const [asks, setAsks] = useState(0);
  const [isSlow, setSlow] = useState(false);
  /** The ids of the plants whose boxes are checked, also those on other pages. */
  const [selected, setSelected] = useState(new Set<string>());
  /** Edits in this page, after which the list and the figures are loaded again. */
  const [edits, setEdits] = useState(0);
  /** The versions of the plants as they were last shown, by their ids. */
  const versions = useRef(new Map<string, string>());
  const section = useRef<HTMLElement>(null);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** How long the last search took. */
  const lastMs = useRef(0);

  const { problem } = parseQuery(address.query);
  /** A search that is not understood leaves the list before it in place. */
  const understood = useRef<Address>({ ...address, query: "", after: "", before: "" });
  if (problem === "") understood.current = address;
  const asked = understood.current;
  const key = `${asks} ${apiParameters(asked)}`;
  /** New plants may appear on a first page. */
  const isLive = asked.query === "" && asked.after === "" && asked.before === "";
  const last = useRef<Result | null>(null);
  const load = async (): Promise<Result> => {
    const startedAt = performance.now();
    const loaded = await get<Page>(`plants?${apiParameters(asked)}`).then(
      (found) => ({ page: found, error: "" }),
      (failure) => ({ page: null, error: errorMessage(failure) }),
    );
    for (const { id, version } of loaded.page?.plants ?? []) versions.current.set(id, version);
    if (asked.query !== "") lastMs.current = performance.now() - startedAt;
    // An error replaces the results of another search, and stands above those of the same one.
    const before = last.current?.key === key ? last.current.page : null;
    const page = loaded.page ?? before;
    return { key, address: asked, page, newIds: newIdsOf(before, page), error: loaded.error };
  };
  last.current = useLoaded(load, [key, isLive ? tick : 0, edits]).data;
  const { address: shown = address, page = null, newIds, error = "" } = last.current ?? {};
  const isBusy = last.current?.key !== key;

  useEffect(() => () => clearTimeout(typing.current), []);
  useEffect(() => setSelected(new Set()), [shown.query]);
  useEffect(() => {
    if (!isBusy) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), visibleMs);
    return () => clearTimeout(timer);
  }, [isBusy]);

  const go = (change: Partial<Address>, how: "push" | "replace" = "push") => {
    const next = { ...readAddress(), ...change };
    showAddress(next, how);
    setAddress(next);
  };
  const ask = (change: Partial<Address>, how?: "push" | "replace") => {
    go({ after: "", before: "", ...change }, how);
    setAsks((all) => all + 1);
  };
  const search = (typed: string, how: "push" | "replace") => {
    clearTimeout(typing.current);
    setQuery(typed);
    ask({ query: typed }, how);
  };
  const type = (typed: string) => {
    setQuery(typed);
    clearTimeout(typing.current);
    if (lastMs.current < quickMs) typing.current = setTimeout(() => search(typed, "replace"), typingMs);
  };
  const searchGroup = (group: string) => search(withGroup(query, group), "push");
  const sort = (order: Order) => {
    const isDescending =
      address.order === order ? !address.isDescending : order === "id" || order === "created";
    ask({ order, isDescending });
  };
  const turn = (to: Partial<Address>) => {
    ask(to);
    section.current?.scrollIntoView({ block: "start" });
  };
  const edited = () => setEdits((all) => all + 1);
  // A step in the history of the browser, or a link.
  useListener(window, "popstate", () => {
    const next = readAddress();
    setAddress(next);
    setQuery(next.query);
  });

  const complaint = problem === "" ? error : problem;
  const waitsForEnter = lastMs.current >= quickMs && query !== shown.query;
  const caption = page === null ? (complaint === "" ? "Loading…" : "") : captionOf(page, shown);
  return html`
    <section class="card plants" aria-labelledby="plants-title" ref=${section}>
      <header>
        <h2 id="plants-title">Plants</h2>
        <button type="button" class="main" onClick=${onAdd}>Add a plant</button>
      </header>
      <${Inventory} tick=${tick + edits} onGroup=${searchGroup} />
      <form class="inline" role="search" aria-label="Plants" onSubmit=${onSubmit(() => search(query, "push"))}>
        <input
          name="query"
          class="grow"
          type="search"
          aria-label="Search plants"
          aria-describedby="search-help"
          placeholder=${searchPlaceholder}
          value=${query}
          autocomplete="off"
          spellcheck=${false}
          onInput=${onValue(type)}
        />
        <button>Search</button>
      </form>
      <p class="note" id="search-help">
        ${waitsForEnter && "Press Enter to search. "}
        Any parts of a ${searchedFields}, in any order. Filters: ${filterExamples.map((example) => html`<code>${example}</code> `)}
      </p>
      <${ErrorMessage} text=${complaint} />
      <div>
        <p class="note" role="status">${isSlow ? html`Searching… <progress aria-label="Searching"></progress>` : caption}</p>
        <${Selection} ids=${selected} versions=${versions.current} query=${shown.query} onSelect=${setSelected} onEdited=${edited} />
        ${
          page !== null &&
          html`
            ${page.plants.length === 0 && html`<p class="empty">${emptyListText(shown, page.searchedTo)}</p>`}
            ${
              page.plants.length > 0 &&
              html`<${PlantTable}
                page=${page}
                newIds=${newIds}
                selected=${selected}
                isSearch=${shown.query !== ""}
                linkOf=${(id: string) => linkTo({ ...address, plant: id })}
                onOpen=${(id: string) => go({ plant: id })}
                onSelect=${setSelected}
                onSort=${sort}
                onGroup=${searchGroup}
              />`
            }
            <nav class="pages" aria-label="Pages">
              <button type="button" disabled=${(shown.after === "" && shown.before === "") || isBusy} onClick=${() => turn({})}>First</button>
              <button type="button" disabled=${page.previous === null || isBusy} onClick=${() => turn({ before: page.previous ?? "" })}>Previous</button>
              <button type="button" disabled=${page.next === null || isBusy} onClick=${() => turn({ after: page.next ?? "" })}>
                ${page.searchedTo === null ? "Next" : "Continue the search"}
              </button>
            </nav>
          `
        }
      </div>
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

/** The plants that were not on the page before. If all are new, none is marked. */
function newIdsOf(before: Page | null, after: Page | null) {
  const idsOf = (page: Page | null) => new Set(page?.plants.map(({ id }) => id));
  const ids = idsOf(after);
  const added = ids.difference(idsOf(before));
  return added.size < ids.size ? added : new Set<string>();
}

function captionOf({ plants, order, isDescending, searchedTo, hasPlantWithId }: Page, { query }: Address) {
  const count = formatCount(plants.length, "plant");
  const sorted = `by ${order === "created" ? "creation" : labelOf(order).toLowerCase()}, ${isDescending ? "descending" : "ascending"}`;
  if (query.trim() === "") {
    const unlisted =
      order === "created" ? "a time of creation" : order === groupField ? `a ${groupLabel}` : undefined;
    return `Sorted ${sorted}${unlisted === undefined ? "" : `; plants without ${unlisted} are not in this order`}.`;
  }
  if (searchedTo !== null)
    return `${count} found with ids ${isDescending ? "from" : "up to"} ${searchedTo}${isDescending ? " up" : ""}. The search stopped at its time limit.`;
  if (hasPlantWithId) return `The plant with the id ${query.trim()}.`;
  return `${count} on this page, sorted ${sorted}.`;
}

function emptyListText({ query, order }: Address, searchedTo: string | null) {
  if (searchedTo !== null) return "Nothing was found so far. Continue the search below.";
  if (query.trim() !== "") return html`No plant was found for ${untrustedText(query)}.`;
  if (order === "created") return "No plant has a time of creation.";
  if (order === groupField) return `No plant has a ${groupLabel}.`;
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
