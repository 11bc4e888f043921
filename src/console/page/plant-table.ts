// The table of plants: its orders, its boxes, and links to the plants.

import { groupField, titleField } from "../../core/contract/fields.ts";
import type { Order } from "../orders.ts";
import type { listPage } from "../plants.ts";
import type { Answer } from "./api.ts";
import { exactTime, formatDate, html, untrustedText } from "./format.ts";
import { groupLabel, labelOf, otherFields, type Value } from "./plant-fields.ts";

export type Page = Answer<typeof listPage>;

/** `isSearch`: results of a search come by id. */
export function PlantTable({
  page: { plants, order, isDescending },
  newIds,
  selected,
  isSearch,
  linkOf,
  onOpen,
  onSelect,
  onSort,
  onGroup,
}: {
  page: Page;
  newIds: Set<string>;
  selected: Set<string>;
  isSearch: boolean;
  linkOf: (id: string) => string;
  onOpen: (id: string) => void;
  onSelect: (ids: Set<string>) => void;
  onSort: (column: Order) => void;
  onGroup: (group: string) => void;
}) {
  const pageIds = new Set(plants.map(({ id }) => id));
  const isPageSelected = pageIds.isSubsetOf(selected);
  /**
   * A click anywhere on a row opens its plant, but for one on a control, or one that ends a
   * selection of text.
   */
  const openRow = (event: MouseEvent, id: string) => {
    const target = event.target as Element;
    if (target.closest("a, button, .check") === null && String(getSelection()) === "") onOpen(id);
  };
  const openLink = (event: MouseEvent, id: string) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(id);
  };
  const header = (column: Order) => {
    const isFixed = column !== "id" && isSearch;
    const [direction, arrow] =
      column !== order ? ["none", ""] : isDescending ? ["descending", "\u00a0↓"] : ["ascending", "\u00a0↑"];
    return html`
      <th scope="col" class=${column === groupField ? "tag" : column === "id" ? "id number" : column} aria-sort=${direction}>
        <button
          type="button"
          class="link"
          disabled=${isFixed}
          title=${isFixed ? "The results of a search come by id." : `Sort by ${labelOf(column).toLowerCase()}`}
          onClick=${() => onSort(column)}
        >
          ${labelOf(column)}<span aria-hidden="true">${arrow}</span>
        </button>
      </th>
    `;
  };
  const groupChip = (value: Value) =>
    value !== null &&
    html`<button type="button" class="chip" title=${value} aria-label=${`Search for the ${groupLabel} ${value}`} onClick=${() => onGroup(String(value))}>${untrustedText(String(value))}</button>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="List of plants">
      <table class="list">
        <thead>
          <tr>
            <th scope="col" class="check">
              <input
                type="checkbox"
                aria-label="Select the plants of this page"
                checked=${isPageSelected}
                onChange=${() => onSelect(isPageSelected ? selected.difference(pageIds) : selected.union(pageIds))}
              />
            </th>
            ${header("id")} ${header(titleField)} ${groupField !== undefined && header(groupField)}
            ${otherFields.map((field) => html`<th scope="col">${labelOf(field)}</th>`)}
            ${header("created")}
          </tr>
        </thead>
        <tbody>
          ${plants.map(
            ({ id, version: _, isTruncated, createdAt, token, ...values }) => html`
              <tr key=${id} class=${newIds.has(id) ? "new" : ""} onClick=${(event: MouseEvent) => openRow(event, id)}>
                <td class="check">
                  <input type="checkbox" aria-label=${`Select plant ${id}`} checked=${selected.has(id)} onChange=${() => onSelect(selected.symmetricDifference(new Set([id])))} />
                </td>
                <td class="number id">
                  <a href=${linkOf(id)} aria-label=${`Plant ${id}`} onClick=${(event: MouseEvent) => openLink(event, id)}>${id}</a>
                </td>
                <td class="text main"><span title=${String(values[titleField])}>${untrustedText(String(values[titleField]))}${isTruncated && html`<span class="faint"> …</span>`}</span></td>
                ${groupField !== undefined && html`<td class="text tag">${groupChip(values[groupField])}</td>`}
                ${otherFields.map((field) => html`<td class="text">${shownValue(values[field])}</td>`)}
                <td class="text created">
                  ${createdAt !== null && html`<span title=${token === null ? exactTime(createdAt) : `${exactTime(createdAt)} by ${token}`}>${formatDate(createdAt)}${token !== null && html` <span class="faint">by ${untrustedText(token)}</span>`}</span>`}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function shownValue(value: Value) {
  return value !== null && html`<span title=${value}>${untrustedText(String(value))}</span>`;
}
