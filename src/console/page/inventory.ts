// The figures of all plants: their number and tags, the size of the store, and what was created
// lately.

import type { Inventory as InventoryCalls } from "../inventory.ts";
import { type Answer, get } from "./api.ts";
import { html, untrustedText } from "./format.ts";
import { ReloadingSection } from "./reloading-section.ts";
import { formatBytes } from "./units.ts";

type Figures = Answer<InventoryCalls["figures"]>;

/** While plants are counted, the figures are loaded again after this time. */
const countingMs = 400;

export class Inventory extends ReloadingSection<
  { tick: number; onTag: (tag: string) => void },
  { figures: Figures | null; error: string }
> {
  override state: { figures: Figures | null; error: string } = { figures: null, error: "" };

  override async fetchData() {
    const figures: Figures = await get("inventory");
    if (figures.countedSoFar !== null) this.loadAfter(countingMs);
    return { figures };
  }

  override render() {
    const { figures, error } = this.state;
    // An error of the store is that of the list, too, which shows it.
    if (figures === null) return error !== "" && html`<p class="note">The plants could not be counted.</p>`;
    return html`
      <dl class="figures" aria-label="Inventory">
        <div><dt>Plants</dt><dd>${plantCount(figures)}</dd></div>
        ${figures.bytes !== null && html`<div><dt>Size on disk</dt><dd>${formatBytes(figures.bytes)}</dd></div>`}
        ${growth(figures).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
      </dl>
      ${figures.tags !== null && figures.tags.length > 0 && this.tags(figures)}
    `;
  }

  tags({ tags, tagsAreExact, isExact }: Figures) {
    const most = tags?.[0]?.[1] ?? 1;
    return html`
      <details class="tags">
        <summary>Plants by tag${tags?.length === 20 ? ", top 20" : ""}${tagsAreExact && isExact ? "" : ", estimated"}</summary>
        <ol>
          ${tags?.map(
            ([tag, plants]) => html`
              <li>
                <button type="button" class="link" aria-label=${`Search for the tag ${tag}`} onClick=${() => this.props.onTag(tag)}>
                  ${untrustedText(tag)}
                </button>
                <meter min="0" max=${most} value=${plants} aria-hidden="true"></meter>
                <span>${plants.toLocaleString("en-US")}</span>
              </li>
            `,
          )}
        </ol>
      </details>
    `;
  }
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
