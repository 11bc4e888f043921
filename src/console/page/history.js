// The history of a plant's edits, and their undo.

import { errorMessage, get, post } from "./api.js";
import { ErrorMessage } from "./dialogs.js";
import { formatDate, html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { formatCount } from "./units.js";

/**
 * @typedef {Readonly<Record<string, string>>} Fields
 * @typedef {{ by: string, client?: string, uid?: number, user?: string, sudoUser?: string }} Editor
 * @typedef {{ run: string, id: string, editedAt: string, editor: Editor, before: Fields | null, after: Fields | null }} Edit
 */

/** Characters of a text that an entry shows. */
const shownCharactersMax = 300;

/**
 * Undoes a run, or its edits of one plant, and resolves with a sentence about the result.
 *
 * @param {string} run
 * @param {string} id empty for all plants of the run.
 */
export async function undo(run, id) {
  const { undone, unchanged, leftCount } = await post("edits/undo", { run, id });
  const parts = [
    `${formatCount(undone, "edit")} undone`,
    ...(unchanged > 0 ? [`${formatCount(unchanged, "plant")} already as before`] : []),
    ...(leftCount > 0 ? [`${formatCount(leftCount, "plant")} changed since and left as they are`] : []),
  ];
  return `${parts.join(", ")}.`;
}

/**
 * `plant` is what is stored: the list is loaded again when it changes.
 *
 * @extends {Component<{ id: string, plant: unknown, onUndone: () => void },
 *   { edits: Edit[], next: string | null, error: string, done: string, isBusy: boolean }>}
 */
export class History extends Component {
  /** @override @type {{ edits: Edit[], next: string | null, error: string, done: string, isBusy: boolean }} */
  state = { edits: [], next: null, error: "", done: "", isBusy: false };

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /** @override @param {{ id: string, plant: unknown }} previous */
  componentDidUpdate(previous) {
    if (previous.id !== this.props.id || previous.plant !== this.props.plant) void this.load();
  }

  /** @param {string | null} before the place after which older edits are added. */
  async load(before = null) {
    try {
      const { id } = this.props;
      const page = await get("edits", { id, ...(before !== null && { before }) });
      const edits = before === null ? page.edits : [...this.state.edits, ...page.edits];
      this.setState({ edits, next: page.next, error: "" });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** @param {Edit} edit */
  async undo({ run, id }) {
    this.setState({ isBusy: true, error: "", done: "" });
    try {
      this.setState({ done: await undo(run, id) });
      this.props.onUndone();
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.setState({ isBusy: false });
  }

  /** @override */
  render() {
    const { edits, next, error, done, isBusy } = this.state;
    if (edits.length === 0) return html`<${ErrorMessage} text=${error} />`;
    return html`
      <h3>History</h3>
      <p class="note" role="status">${done}</p>
      <${ErrorMessage} text=${error} />
      <ul class="rows" aria-label="History">
        ${edits.map(
          (edit) => html`
            <li key=${edit.run + edit.editedAt}>
              <div class="grow">
                ${changeText(edit)}
                <small>${formatDate(edit.editedAt)} by ${untrustedText(editorName(edit.editor))}, run ${edit.run}</small>
              </div>
              <button type="button" class="quiet" disabled=${isBusy} onClick=${() => this.undo(edit)}>Undo</button>
            </li>
          `,
        )}
      </ul>
      ${next !== null && html`<button type="button" class="link" onClick=${() => this.load(next)}>Show older edits</button>`}
    `;
  }
}

/** @param {Edit} edit */
function changeText({ before, after }) {
  if (before === null) return html`<div>Restored</div>`;
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after ?? {})])];
  const changed = fields.filter((field) => before[field] !== after?.[field]);
  return changed.map(
    (field) =>
      html`<div>${after === null ? "Deleted, " : ""}${field}: ${shown(before[field])}${after !== null && html` → ${shown(after[field])}`}</div>`,
  );
}

/** @param {string | undefined} text */
function shown(text) {
  if (text === undefined) return html`<span class="faint">none</span>`;
  const isLong = text.length > shownCharactersMax;
  return untrustedText(isLong ? `${text.slice(0, shownCharactersMax)}…` : text);
}

/** @param {Editor} editor */
function editorName({ by, client, uid, user, sudoUser }) {
  if (by === "console") return `the console at ${client}`;
  return `${user ?? `the user ${uid}`}${sudoUser === undefined ? "" : `, called by ${sudoUser},`} on the command line`;
}
