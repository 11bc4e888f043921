// The figures of all plants: their number and tags, the size of the store, and what was created
// lately.

import type { Inventory as InventoryCalls } from "../inventory.ts";
import { type Answer, get } from "./api.ts";
import { formatBytes, html, untrustedText } from "./format.ts";
import { useLoaded } from "./hooks.ts";

type Figures = Answer<InventoryCalls["figures"]>;

export function Inventory({ tick, onTag }: { tick: number; onTag: (tag: string) => void }) {
  const { data, error } = useLoaded(
    () => get<Figures>("inventory"),
    [tick],
    ({ countedSoFar }) => countedSoFar !== null,
  );
  // An error of the store is that of the list, too, which shows it.
  if (data === null) return error !== "" && html`<p class="note">The plants could not be counted.</p>`;
  const { bytes, tags } = data;
  return html`
    <dl class="figures" aria-label="Inventory">
      <div><dt>Plants</dt><dd>${plantCount(data)}</dd></div>
      ${bytes !== null && html`<div><dt>Size on disk</dt><dd>${formatBytes(bytes)}</dd></div>`}
      ${growth(data).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
    </dl>
    ${tags !== null && tags.length > 0 && html`<${Tags} ...${data} tags=${tags} onTag=${onTag} />`}
  `;
}

function Tags({
  tags,
  tagsAreExact,
  isExact,
  onTag,
}: Figures & { tags: NonNullable<Figures["tags"]>; onTag: (tag: string) => void }) {
  return html`
    <details class="tags">
      <summary>Plants by tag${tags.length === 20 ? ", top 20" : ""}${tagsAreExact && isExact ? "" : ", estimated"}</summary>
      <ol>
        ${tags.map(
          ([tag, plants]) => html`
            <li>
              <button type="button" class="link grow cut" title=${tag} aria-label=${`Search for the tag ${tag}`} onClick=${() => onTag(tag)}>
                ${untrustedText(tag)}
              </button>
              <meter min="0" max=${tags[0]?.[1]} value=${plants} aria-hidden="true"></meter>
              <span>${plants.toLocaleString("en-US")}</span>
            </li>
          `,
        )}
      </ol>
    </details>
  `;
}

function plantCount({ plants, isExact, countedSoFar }: Figures) {
  if (plants === null)
    return html`counting… <small class="faint">${(countedSoFar ?? 0).toLocaleString("en-US")} so far</small>`;
  return `${isExact ? "" : "about "}${plants.toLocaleString("en-US")}`;
}

function growth({ created }: Figures): [label: string, value: string][] {
  if (created === null) return [];
  const format = (plants: number) => `+${plants.toLocaleString("en-US")}`;
  return [
    ["New, last hour", format(created.hour)],
    ["New, 24 hours", format(created.day)],
    ["New, 7 days", format(created.week)],
    ["New, 30 days", format(created.month)],
  ];
}
