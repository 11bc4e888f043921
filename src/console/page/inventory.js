// The figures of all plants: their number and tags, the size of the store, and what was created
// lately.

import { errorMessage, get } from "./api.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";

/**
 * @typedef {{ plants: number | null, isExact: boolean, countedSoFar: number | null, tags: [string, number][] | null,
 *   tagsAreExact: boolean, ageSeconds: number | null, bytes: number | null,
 *   created: { hour: number, day: number, week: number, month: number } | null }} Figures
 */

/** While plants are counted, the figures are loaded again after this time. */
const countingMs = 400;

/**
 * @extends {Component<{ tick: number, onTag: (tag: string) => void },
 *   { figures: Figures | null, error: string }>}
 */
export class Inventory extends Component {
  /** @override @type {{ figures: Figures | null, error: string }} */
  state = { figures: null, error: "" };

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer = undefined;
  isLoading = false;

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /** @override */
  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  /**
   * @override
   * @param {{ tick: number }} previous
   */
  componentDidUpdate(previous) {
    if (previous.tick !== this.props.tick) void this.load();
  }

  async load() {
    if (this.isLoading) return;
    this.isLoading = true;
    clearTimeout(this.timer);
    try {
      /** @type {Figures} */
      const figures = await get("inventory");
      this.setState({ figures, error: "" });
      if (figures.countedSoFar !== null) this.timer = setTimeout(() => void this.load(), countingMs);
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.isLoading = false;
  }

  /** @override */
  render() {
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

  /** @param {Figures} figures */
  tags({ tags, tagsAreExact, isExact }) {
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

/** @param {Figures} figures */
function plantCount({ plants, isExact, countedSoFar }) {
  if (plants === null)
    return html`counting… <small class="faint">${(countedSoFar ?? 0).toLocaleString("en-US")} so far</small>`;
  return `${isExact ? "" : "about "}${plants.toLocaleString("en-US")}`;
}

/**
 * @param {Figures} figures
 * @returns {[label: string, value: string][]}
 */
function growth({ created }) {
  if (created === null) return [];
  const format = (/** @type {number} */ plants) => `+${plants.toLocaleString("en-US")}`;
  return [
    ["New, last hour", format(created.hour)],
    ["New, 24 hours", format(created.day)],
    ["New, 7 days", format(created.week)],
    ["New, 30 days", format(created.month)],
  ];
}

/** @param {number} bytes */
function formatBytes(bytes) {
  const names = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(names.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1_024 ** power;
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${value.toLocaleString("en-US", { maximumFractionDigits: digits })} ${names[power]}`;
}
