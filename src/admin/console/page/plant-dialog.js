// One plant, whole.

import { Dialog } from "./dialogs.js";
import { foreign, html } from "./format.js";

/** Of a whole plant, what is laid out; the rest is in the export. */
const wholeCharactersMax = 100_000;

/** @param {{ plant: { id: string, name: string, tag: string | null }, onClose: () => void }} properties */
export function WholePlant({ plant: { id, name, tag }, onClose }) {
  return html`
    <${Dialog} title=${`Plant ${id}`} isWide onClose=${onClose}>
      <dl>
        <dt>Name <span class="faint">${lengthText(name)}</span></dt>
        <dd class="whole" tabindex="0" dir="auto">${foreign(name.slice(0, wholeCharactersMax))}</dd>
        <dt>Tag <span class="faint">${tag === null ? "" : lengthText(tag)}</span></dt>
        <dd class="whole" dir="auto">${tag === null ? html`<span class="faint">none</span>` : foreign(tag.slice(0, wholeCharactersMax))}</dd>
      </dl>
    <//>
  `;
}

/** @param {string} text */
function lengthText(text) {
  const length = Array.from(text).length;
  const cut =
    text.length > wholeCharactersMax
      ? `, of which the first ${wholeCharactersMax.toLocaleString("en-US")} are shown`
      : "";
  return `${length.toLocaleString("en-US")} ${length === 1 ? "character" : "characters"}${cut}`;
}
