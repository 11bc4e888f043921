// The history of a plant's edits, and their undo.

import { type FieldValue, fieldNames } from "../../core/contract/fields.ts";
import type { Edits } from "../edits.ts";
import { type Answer, errorMessage, get, post } from "./api.ts";
import { CallingComponent } from "./calling-component.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatDate, html, untrustedText } from "./format.ts";
import { formatCount } from "./units.ts";

type Edit = Answer<Edits["list"]>["edits"][number];

interface State {
  edits: Edit[];
  next: string | null;
  error: string;
  done: string;
  isBusy: boolean;
}

/** Characters of a text that an entry shows. */
const shownCharactersMax = 300;

/**
 * Undoes a run, or its edits of one plant, and resolves with a sentence about the result.
 *
 * @param id empty for all plants of the run.
 */
export async function undo(run: string, id: string) {
  const { undone, unchanged, leftCount } = await post<Answer<Edits["undo"]>>("edits/undo", { run, id });
  const parts = [
    `${formatCount(undone, "edit")} undone`,
    ...(unchanged > 0 ? [`${formatCount(unchanged, "plant")} already as before`] : []),
    ...(leftCount > 0 ? [`${formatCount(leftCount, "plant")} changed since and left as they are`] : []),
  ];
  return `${parts.join(", ")}.`;
}

/** `plant` is what is stored: the list is loaded again when it changes. */
export class History extends CallingComponent<{ id: string; plant: unknown; onUndone: () => void }, State> {
  override state: State = { edits: [], next: null, error: "", done: "", isBusy: false };

  override componentDidMount() {
    void this.load();
  }

  override componentDidUpdate(previous: { id: string; plant: unknown }) {
    if (previous.id !== this.props.id || previous.plant !== this.props.plant) void this.load();
  }

  /** @param before the place after which older edits are added. */
  async load(before: string | null = null) {
    try {
      const { id } = this.props;
      const page: Answer<Edits["list"]> = await get("edits", {
        id,
        ...(before !== null && { before }),
      });
      const edits = before === null ? page.edits : [...this.state.edits, ...page.edits];
      this.setState({ edits, next: page.next, error: "" });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  async undo({ run, id }: Edit) {
    this.setState({ done: "" });
    await this.call(async () => {
      this.setState({ done: await undo(run, id) });
      this.props.onUndone();
    });
  }

  override render() {
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

function changeText({ before, after }: Edit) {
  if (before === null) return html`<div>Restored</div>`;
  const changed = fieldNames.filter((field) => before[field] !== after?.[field]);
  return changed.map(
    (field) =>
      html`<div>${after === null ? "Deleted, " : ""}${field}: ${shown(before[field])}${after !== null && html` → ${shown(after[field])}`}</div>`,
  );
}

function shown(value: FieldValue | undefined) {
  if (value === undefined) return html`<span class="faint">none</span>`;
  const text = String(value);
  const isLong = text.length > shownCharactersMax;
  return untrustedText(isLong ? `${text.slice(0, shownCharactersMax)}…` : text);
}

function editorName({ by, client, uid, user, sudoUser }: Edit["editor"]) {
  if (by === "console") return `the console at ${client}`;
  return `${user ?? `the user ${uid}`}${sudoUser === undefined ? "" : `, called by ${sudoUser},`} on the command line`;
}
