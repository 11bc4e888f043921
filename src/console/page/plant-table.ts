// Shows the table of plants: its boxes, and links to the plants.

import { capitalized } from "../../contract/words.ts";
import { exactTime } from "./formats.ts";
import { formatDate, html, untrustedText } from "./markup.ts";
import { groupLabel, labelOf } from "./plant-draft.ts";
import type { ListedPlant } from "./search.ts";
import { collection } from "./shown-contract.ts";

/** More columns do not fit: the list scrolls. */
const textColumnsMax = 5;
/** The same beside ids that are texts, such as UUIDs. */
const textColumnsBesideTextMax = 3;

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
  /** The fields after the title and the group. */
  const others = [...collection.fields.keys()].filter(
    (index) => index !== collection.title && index !== collection.group,
  );
  const shown = [collection.title, collection.group, ...others].filter((index) => index >= 0);
  /** The columns as wide as their texts: all fields but the first, and the time of creation. */
  const textColumns = Math.max(1, shown.length);
  const isWide = textColumns > (collection.id.isText ? textColumnsBesideTextMax : textColumnsMax);
  const pageIds = new Set(plants.map(({ id }) => id));
  const isPageSelected = pageIds.isSubsetOf(selected);
  /**
   * A click anywhere on a row opens its plant, except on a control, or at the end of a selection of
   * text.
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
  const groupChip = (value: string | null) =>
    value !== null &&
    html`<button type="button" class="chip" title=${value} aria-label=${`Search for the ${groupLabel()} ${value}`} onClick=${() => onGroup(value)}>${untrustedText(value)}</button>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${`List of ${collection.many}`}>
      <table class=${`list ${isWide ? "many" : ""}`} style=${{ "--columns": textColumns }}>
        <thead>
          <tr>
            <th scope="col" class="check">
              <input
                type="checkbox"
                aria-label=${`Select the ${collection.many} of this page`}
                checked=${isPageSelected}
                onChange=${() => onSelect(isPageSelected ? selected.difference(pageIds) : selected.union(pageIds))}
              />
            </th>
            <th scope="col" class="number id">Id</th>
            ${shown.map((index) => html`<th scope="col">${labelOf(collection.fields[index]?.name ?? "")}</th>`)}
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          ${plants.map(
            ({ id, values, createdAt, token }) => html`
              <tr key=${id} onClick=${(event: MouseEvent) => openRow(event, id)}>
                <td class="check">
                  <input type="checkbox" aria-label=${`Select ${collection.one} ${id}`} checked=${selected.has(id)} onChange=${() => onSelect(selected.symmetricDifference(new Set([id])))} />
                </td>
                <td class="number id">
                  <a href=${linkOf(id)} aria-label=${`${capitalized(collection.one)} ${id}`} onClick=${(event: MouseEvent) => openLink(event, id)}>${id}</a>
                </td>
                ${collection.title >= 0 && html`<td class="text main">${shownValue(values[collection.title] ?? null)}</td>`}
                ${collection.group >= 0 && html`<td class="text tag">${groupChip(values[collection.group] ?? null)}</td>`}
                ${others.map((index) => html`<td class="text">${shownValue(values[index] ?? null)}</td>`)}
                <td class="text created">
                  <span title=${token === null ? exactTime(createdAt) : `${exactTime(createdAt)} by ${token}`}>${formatDate(createdAt)}${token !== null && html` <span class="faint">by ${untrustedText(token)}</span>`}</span>
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function shownValue(value: string | null) {
  return value !== null && html`<span title=${value}>${untrustedText(value)}</span>`;
}
