// The dialog of one plant: all of its fields, when and by whom it was created, and its change or
// deletion.

import { type FieldName, fieldNames, isRequired, toFieldValue } from "../../core/contract/fields.ts";
import { errorMessage, get, post, RequestError } from "./api.ts";
import { Dialog, ErrorMessage } from "./dialogs.ts";
import { formatDate, html, untrustedText } from "./format.ts";
import { History } from "./history.ts";
import { Component } from "./library.js";
import { FieldInput, labelOf, type Value } from "./plant-fields.ts";
import { formatCount } from "./units.ts";

type Fields = { id: string } & Readonly<Record<string, Value>>;

type Plant = Fields & { createdAt: string | null; token: string | null };

interface Input {
  text: string;
  isPresent: boolean;
}

type Draft = Readonly<Record<string, Input>>;

const emptyInput: Input = { text: "", isPresent: false };

interface State {
  plant: Plant | null;
  isLoaded: boolean;
  mode: "shown" | "edited" | "confirmed" | "deleted";
  draft: Draft;
  error: string;
  isBusy: boolean;
}

/** Characters of a name or tag that the dialog shows; the export has all. */
const shownCharactersMax = 100_000;

export class PlantDialog extends Component<{ id: string; onEdited: () => void; onClose: () => void }, State> {
  override state: State = {
    plant: null,
    isLoaded: false,
    mode: "shown",
    draft: {},
    error: "",
    isBusy: false,
  };

  override componentDidMount() {
    void this.load();
  }

  override componentDidUpdate(previous: { id: string }) {
    if (previous.id !== this.props.id) void this.load();
  }

  async load() {
    try {
      const plant: Plant | null = await get("plant", { id: this.props.id });
      this.setState({ plant, isLoaded: true });
    } catch (error) {
      this.setState({ error: errorMessage(error), isLoaded: true });
    }
  }

  edit() {
    const { plant } = this.state;
    if (plant === null) return;
    const draft = fieldNames.map((field) => {
      const value = plant[field] ?? null;
      return [field, { text: toLineFeeds(String(value ?? "")), isPresent: value !== null }];
    });
    this.setState({ mode: "edited", draft: Object.fromEntries(draft), error: "" });
  }

  get replacement(): Fields {
    const { plant, draft } = this.state;
    const values = fieldNames.map((field) => {
      const { text, isPresent } = draft[field] ?? emptyInput;
      const stored = plant?.[field];
      const restored = typeof stored === "string" ? restoreLineEnds(text, stored) : text;
      return [field, isPresent ? toFieldValue(field, restored) : null];
    });
    return { id: plant?.id ?? "", ...Object.fromEntries(values) };
  }

  /**
   * Sends a change or a deletion with what this dialog shows: the server makes it only if that is
   * still stored.
   */
  async send(path: string, body: Record<string, string>) {
    const { plant } = this.state;
    if (plant === null) return;
    this.setState({ isBusy: true, error: "" });
    try {
      await post(path, { expected: bodyOf(fieldsOf(plant)), ...body });
      this.props.onEdited();
      this.setState({ mode: "shown" });
      await this.load();
    } catch (error) {
      this.setState({ error: errorMessage(error) });
      const isEdit = path === "plant/change";
      // It has changed: the next attempt is compared with what is stored now. What was typed stays.
      const isStale = error instanceof RequestError && (error.status === 409 || error.status === 404);
      if (isStale && (error.status === 409 || !isEdit)) await this.load();
      if (isEdit) this.setState({ mode: "edited" });
      else if (isStale) this.setState({ mode: "shown" });
    }
    this.setState({ isBusy: false });
  }

  undone() {
    this.props.onEdited();
    void this.load();
  }

  override render() {
    const { id, onClose } = this.props;
    const { plant, isLoaded, mode, error } = this.state;
    const titles = {
      shown: `Plant ${id}`,
      edited: `Edit plant ${id}`,
      confirmed: `Change plant ${id}?`,
      deleted: `Delete plant ${id}?`,
    };
    return html`
      <${Dialog} title=${titles[mode]} isWide onClose=${onClose}>
        ${!isLoaded && html`<p class="note" role="status">Loading…</p>`}
        ${isLoaded && plant === null && error === "" && html`<p class="empty">No plant has the id ${id}.</p>`}
        ${isLoaded && plant === null && html`<${ErrorMessage} text=${error} />`}
        ${plant !== null && this.body(plant)}
        ${isLoaded && mode === "shown" && html`<${History} id=${id} plant=${plant} onUndone=${() => this.undone()} />`}
      <//>
    `;
  }

  body(plant: Plant) {
    switch (this.state.mode) {
      case "shown":
        return this.shown(plant);
      case "edited":
        return this.form();
      case "confirmed":
        return this.confirmation(plant);
      case "deleted":
        return this.deletion(plant);
    }
  }

  shown(plant: Plant) {
    const { createdAt, token } = plant;
    return html`
      ${texts(fieldsOf(plant))}
      <dl>
        ${createdAt !== null && html`<dt>Created</dt><dd>${formatDate(createdAt)}${token === null ? "" : html` with the token ${untrustedText(token)}`}</dd>`}
      </dl>
      <${ErrorMessage} text=${this.state.error} />
      <div class="actions">
        <button type="button" class="danger" onClick=${() => this.setState({ mode: "deleted", error: "" })}>Delete</button>
        <button type="button" onClick=${() => this.edit()}>Edit</button>
      </div>
    `;
  }

  form() {
    const { draft, error, plant } = this.state;
    const { replacement } = this;
    const isUnchanged = fieldNames.every((field) => replacement[field] === plant?.[field]);
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      if (!isUnchanged) this.setState({ mode: "confirmed", error: "" });
    };
    return html`
      <form onSubmit=${submit}>
        ${fieldNames.map((field) => this.input(field, draft[field] ?? emptyInput))}
        <${ErrorMessage} text=${error} />
        <div class="actions">
          <button type="button" onClick=${() => this.setState({ mode: "shown", error: "" })}>Cancel</button>
          <button class="main" disabled=${isUnchanged}>Continue</button>
        </div>
      </form>
    `;
  }

  input(field: FieldName, { text, isPresent }: Input) {
    const set = (change: Partial<Input>) =>
      this.setState(({ draft }) => ({ draft: { ...draft, [field]: { text, isPresent, ...change } } }));
    const label = labelOf(field).toLowerCase();
    return html`
      ${
        !isRequired(field) &&
        html`<label class="check">
          <input
            type="checkbox"
            name=${`has-${field}`}
            checked=${isPresent}
            onChange=${(event: Event & { currentTarget: HTMLInputElement }) => set({ isPresent: event.currentTarget.checked })}
          />
          It has ${/^[aeiou]/.test(label) ? "an" : "a"} ${label}
        </label>`
      }
      ${isPresent && html`<${FieldInput} field=${field} value=${text} isMultiline onText=${(typed: string) => set({ text: typed })} />`}
    `;
  }

  confirmation(plant: Plant) {
    const { isBusy, error } = this.state;
    const { replacement } = this;
    return html`
      <h3>Now</h3>
      ${texts(fieldsOf(plant))}
      <h3>After the change</h3>
      ${texts(replacement)}
      <p class="note">If a client sends this id again, its plant is compared with the changed one. The change can be undone.</p>
      <${ErrorMessage} text=${error} />
      <div class="actions">
        <button type="button" onClick=${() => this.setState({ mode: "edited" })}>Back</button>
        <button
          type="button"
          class="main"
          disabled=${isBusy}
          onClick=${() => this.send("plant/change", { replacement: bodyOf(replacement) })}
        >
          Change the plant
        </button>
      </div>
    `;
  }

  deletion(plant: Plant) {
    const { isBusy, error } = this.state;
    return html`
      ${texts(fieldsOf(plant))}
      <p class="note">A client that sends this id again creates the plant again. The deletion can be undone from its history.</p>
      <${ErrorMessage} text=${error} />
      <div class="actions">
        <button type="button" onClick=${() => this.setState({ mode: "shown", error: "" })}>Cancel</button>
        <button type="button" class="danger" disabled=${isBusy} onClick=${() => this.send("plant/delete", {})}>Delete the plant</button>
      </div>
    `;
  }
}

/** The plant without its creation. */
function fieldsOf({ createdAt: _at, token: _token, ...fields }: Plant): Fields {
  return fields;
}

/** A text as a textarea has it, whose line ends are all line feeds. */
function toLineFeeds(text: string) {
  return text.replace(/\r\n?/g, "\n");
}

/**
 * The text of a textarea with the line ends of the stored text, by their position: a client's
 * repeat compares them.
 */
function restoreLineEnds(text: string, stored: string) {
  const ends = stored.match(/\r\n?|\n/g) ?? [];
  let line = 0;
  return text.replace(/\n/g, () => ends[line++] ?? ends.at(-1) ?? "\n");
}

function texts({ id: _, ...fields }: Fields) {
  return html`
    <dl>
      ${Object.entries(fields).map(
        ([field, value]) => html`
          <dt>${labelOf(field)} <span class="faint">${typeof value === "string" ? formatLength(value) : ""}</span></dt>
          <dd class="full-text" tabindex="0" dir="auto">${value === null ? html`<span class="faint">none</span>` : untrustedText(String(value).slice(0, shownCharactersMax))}</dd>
        `,
      )}
    </dl>
  `;
}

/** The plant as a body of POST /plants: the id has digits that a number in JavaScript would lose. */
function bodyOf({ id, ...fields }: Fields) {
  const present = Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== null));
  return `{"id":${id},${JSON.stringify(present).slice(1)}`;
}

function formatLength(text: string) {
  const truncated =
    text.length > shownCharactersMax
      ? `, the first ${shownCharactersMax.toLocaleString("en-US")} are shown`
      : "";
  return `${formatCount(Array.from(text).length, "character")}${truncated}`;
}
