// The table of plants: its boxes, and links to the plants.

import { groupField, titleField } from "../../core/contract/fields.ts";
import { exactTime, formatDate, html, untrustedText } from "./format.ts";
import { groupLabel, labelOf, otherFields, type Value } from "./plant-form.ts";
import type { ListedPlant } from "./search.ts";

/** The columns after the title that are as wide as their texts. */
const textColumns = otherFields.length + (groupField === undefined ? 1 : 2);

export function PlantTable({
  plants,
  selected,
  linkOf,
  onOpen,
  onSelect,
  onGroup,
}: {
  plants: ListedPlant[];
  selected: Set<string>;
  linkOf: (id: string) => string;
  onOpen: (id: string) => void;
  onSelect: (ids: Set<string>) => void;
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
  const groupChip = (value: Value) =>
    value !== null &&
    html`<button type="button" class="chip" title=${value} aria-label=${`Search for the ${groupLabel} ${value}`} onClick=${() => onGroup(String(value))}>${untrustedText(String(value))}</button>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="List of plants">
      <table class="list" style=${{ "--columns": textColumns }}>
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
            <th scope="col" class="number id">Id</th>
            <th scope="col">${labelOf(titleField)}</th>
            ${groupField !== undefined && html`<th scope="col">${labelOf(groupField)}</th>`}
            ${otherFields.map((field) => html`<th scope="col">${labelOf(field)}</th>`)}
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          ${plants.map(
            ({ id, version: _, createdAt, token, ...values }) => html`
              <tr key=${id} onClick=${(event: MouseEvent) => openRow(event, id)}>
                <td class="check">
                  <input type="checkbox" aria-label=${`Select plant ${id}`} checked=${selected.has(id)} onChange=${() => onSelect(selected.symmetricDifference(new Set([id])))} />
                </td>
                <td class="number id">
                  <a href=${linkOf(id)} aria-label=${`Plant ${id}`} onClick=${(event: MouseEvent) => openLink(event, id)}>${id}</a>
                </td>
                <td class="text main"><span title=${String(values[titleField])}>${untrustedText(String(values[titleField]))}</span></td>
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
