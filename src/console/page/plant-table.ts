// Shows the table of plants: its boxes, and links to the plants.

import { capitalized } from "../../contract/words.ts";
import type { PageField } from "../page-contract.ts";
import { collectionAddress } from "./address.ts";
import { exactTime } from "./formats.ts";
import { formatDate, html, untrustedText } from "./markup.ts";
import { groupLabel, labelOf } from "./plant-draft.ts";
import type { ListedPlant } from "./search.ts";
import { collection, groupField } from "./shown-contract.ts";

/** The dialog of a plant has the other fields. */
const fieldsMax = 5;

export function PlantTable({
  plants,
  selected,
  linkOf,
  onOpen,
  onSelect,
  onFilter,
}: {
  plants: ListedPlant[];
  selected: Set<string>;
  linkOf: (id: string) => string;
  onOpen: (id: string) => void;
  onSelect: (ids: Set<string>) => void;
  onFilter: (field: PageField, value: string) => void;
}) {
  const leading = [collection.title, collection.group].filter((index) => index >= 0);
  /** The fields after the title and the group: those that a cell can show before objects and lists. */
  const others = [...collection.fields.keys()]
    .filter((index) => !leading.includes(index))
    .toSorted((one, other) => Number(isNested(one)) - Number(isNested(other)))
    .slice(0, fieldsMax - leading.length);
  const shown = [...leading, ...others];
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
  const group = groupField();
  const groupChip = (value: string | null) =>
    value !== null &&
    html`<button type="button" class="chip" title=${value} aria-label=${`Search for the ${groupLabel()} ${value}`} onClick=${() => group && onFilter(group, value)}>${untrustedText(value)}</button>`;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${`List of ${collection.many}`}>
      <table>
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
            <th scope="col" class="number">Id</th>
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
                  <a href=${linkOf(id)} aria-label=${`${capitalized(collection.one)} ${id}`} onClick=${(event: MouseEvent) => openLink(event, id)}><${ShortId} id=${id} /></a>
                </td>
                ${collection.title >= 0 && html`<td class="text main"><${FieldValue} index=${collection.title} value=${values[collection.title] ?? null} /></td>`}
                ${collection.group >= 0 && html`<td>${groupChip(values[collection.group] ?? null)}</td>`}
                ${others.map((index) => html`<td class="text"><${FieldValue} index=${index} value=${values[index] ?? null} /></td>`)}
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

function isNested(index: number): boolean {
  return collection.fields[index]?.input === "json";
}

/** The text of a field; an id of another collection is a link to its plant. */
function FieldValue({ index, value }: { index: number; value: string | null }) {
  if (value === null) return null;
  const link = referenceLink(index, value);
  return link === undefined
    ? html`<span title=${value}>${untrustedText(value)}</span>`
    : html`<a href=${link} aria-label=${value}><${ShortId} id=${value} /></a>`;
}

/** The address of the plant whose id a field has; undefined for a field without ids. */
export function referenceLink(index: number, value: string): string | undefined {
  const { references = "", isNullable } = collection.fields[index] ?? {};
  const isNull = isNullable && value === "null";
  return references === "" || isNull ? undefined : collectionAddress(references, value);
}

/** Characters of an id that are shown; a number of 64 bits has 20. */
const idCharactersMax = 20;

/** The last characters of a UUIDv7 tell it apart from those of the same time. */
const idEnd = 6;

/** A long id with its middle hidden; what is copied is whole. */
function ShortId({ id }: { id: string }) {
  if (id.length <= idCharactersMax) return untrustedText(id);
  return html`<span class="short-id" title=${id}><span>${untrustedText(id.slice(0, -idEnd))}</span>${untrustedText(id.slice(-idEnd))}</span>`;
}
