// Shows a table of requests: five columns, and the details of a row below it when it is unfolded.

import { exactTime, formatMs } from "./formats.ts";
import { type ComponentChildren, useState } from "./library.js";
import { html } from "./markup.ts";

interface LogRow {
  key: string;
  at: string;
  /**
   * The text of the button that unfolds the row, and its name where the text does not say enough.
   */
  label: string;
  spokenLabel?: string;
  isFailed: boolean;
  code: string | number;
  /** The third column, with what is too long for it. */
  main: ComponentChildren;
  title: string;
  /** The fourth column. */
  other: ComponentChildren;
  ms: number;
  details: () => ComponentChildren;
}

export function LogTable({ columns, rows }: { columns: string[]; rows: LogRow[] }) {
  const [openKey, setOpenKey] = useState<string | null>(null);
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="List of requests">
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
          <th scope="col" class="number">Duration</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(({ key, at, label, spokenLabel, isFailed, code, main, title, other, ms, details }) => {
          const isOpen = key === openKey;
          return html`
            <tr key=${key}>
              <td>
                <button type="button" class="link" aria-expanded=${isOpen} aria-label=${spokenLabel} title=${exactTime(at)} onClick=${() => setOpenKey(isOpen ? null : key)}>${label}</button>
              </td>
              <td><span class=${`chip ${isFailed ? "failed" : ""}`}>${code}</span></td>
              <td class="text main"><span title=${title}>${main}</span></td>
              <td class="text">${other}</td>
              <td class="number">${formatMs(ms)}</td>
            </tr>
            ${isOpen && html`<tr key=${`${key} details`} class="details"><td colspan="5">${details()}</td></tr>`}
          `;
        })}
      </tbody>
    </table>
    </div>
  `;
}
