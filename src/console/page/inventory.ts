// The figures of all plants: their number and groups, the size of the store, and what was created
// lately.

import type { Inventory as InventoryCalls } from "../inventory.ts";
import { type Answer, get } from "./api.ts";
import { formatBytes, html, untrustedText } from "./format.ts";
import { useLoaded } from "./hooks.ts";
import { groupLabel } from "./plant-fields.ts";

type Figures = Answer<InventoryCalls["figures"]>;

export function Inventory({ tick, onGroup }: { tick: number; onGroup: (group: string) => void }) {
  const { data, error } = useLoaded(
    () => get<Figures>("inventory"),
    [tick],
    ({ countedSoFar }) => countedSoFar !== null,
  );
  // An error of the store is that of the list, too, which shows it.
  if (data === null) return error !== "" && html`<p class="note">The plants could not be counted.</p>`;
  const { bytes, groups } = data;
  return html`
    <dl class="figures" aria-label="Inventory">
      <div><dt>Plants</dt><dd>${plantCount(data)}</dd></div>
      ${bytes !== null && html`<div><dt>Size on disk</dt><dd>${formatBytes(bytes)}</dd></div>`}
      ${growth(data).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
    </dl>
    ${groups !== null && groups.length > 0 && html`<${Groups} ...${data} groups=${groups} onGroup=${onGroup} />`}
  `;
}

function Groups({
  groups,
  groupsAreExact,
  isExact,
  onGroup,
}: Figures & { groups: NonNullable<Figures["groups"]>; onGroup: (group: string) => void }) {
  return html`
    <details class="tags">
      <summary>Plants by ${groupLabel}${groups.length === 20 ? ", top 20" : ""}${groupsAreExact && isExact ? "" : ", estimated"}</summary>
      <ol>
        ${groups.map(
          ([group, plants]) => html`
            <li>
              <button type="button" class="link grow cut" title=${group} aria-label=${`Search for the ${groupLabel} ${group}`} onClick=${() => onGroup(group)}>
                ${untrustedText(group)}
              </button>
              <meter min="0" max=${groups[0]?.[1]} value=${plants} aria-hidden="true"></meter>
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
