// The dialog of one plant: all of its fields, when and by whom it was created, and its change or
// deletion.

import { errorMessage, get, post, RequestError } from "./api.js";
import { Dialog, ErrorMessage } from "./dialogs.js";
import { formatDate, html, untrustedText } from "./format.js";
import { History } from "./history.js";
import { Component } from "./library/preact.js";
import { FieldInput, fieldNames, isRequired, labelOf, toValue } from "./plant-fields.js";

/**
 * @typedef {import("./plant-fields.js").Value} Value
 * @typedef {{ id: string } & Readonly<Record<string, Value>>} Fields
 * @typedef {Fields & { createdAt: string | null, token: string | null }} Plant
 * @typedef {Readonly<Record<string, { text: string, isPresent: boolean }>>} Draft
 * @typedef {{ plant: Plant | null, isLoaded: boolean, mode: "shown" | "edited" | "confirmed" | "deleted",
 *   draft: Draft, error: string, isBusy: boolean }} State
 */

/** Characters of a name or tag that the dialog shows; the export has all. */
const shownCharactersMax = 100_000;

/**
 * @extends {Component<{ id: string, onEdited: () => void, onClose: () => void }, State>}
 */
export class PlantDialog extends Component {
  /** @override @type {State} */
  state = {
    plant: null,
    isLoaded: false,
    mode: "shown",
    draft: {},
    error: "",
    isBusy: false,
  };

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /**
   * @override
   * @param {{ id: string }} previous
   */
  componentDidUpdate(previous) {
    if (previous.id !== this.props.id) void this.load();
  }

  async load() {
    try {
      /** @type {Plant | null} */
      const plant = await get("plant", { id: this.props.id });
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

  /** The plant as the draft has it. @returns {Fields} */
  get replacement() {
    const { plant, draft } = this.state;
    const values = Object.entries(draft).map(([field, { text, isPresent }]) => {
      const stored = plant?.[field];
      const restored = typeof stored === "string" ? restoreLineEnds(text, stored) : text;
      return [field, isPresent ? toValue(field, restored) : null];
    });
    return { id: plant?.id ?? "", ...Object.fromEntries(values) };
  }

  /**
   * Sends a change or a deletion with what this dialog shows: the server makes it only if that is
   * still stored.
   *
   * @param {string} path
   * @param {Record<string, string>} body
   */
  async send(path, body) {
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

  /** @override */
  render() {
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

  /** @param {Plant} plant */
  body(plant) {
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

  /** @param {Plant} plant */
  shown(plant) {
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
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      if (!isUnchanged) this.setState({ mode: "confirmed", error: "" });
    };
    return html`
      <form onSubmit=${submit}>
        ${Object.entries(draft).map(([field, input]) => this.input(field, input))}
        <${ErrorMessage} text=${error} />
        <div class="actions">
          <button type="button" onClick=${() => this.setState({ mode: "shown", error: "" })}>Cancel</button>
          <button class="main" disabled=${isUnchanged}>Continue</button>
        </div>
      </form>
    `;
  }

  /**
   * @param {string} field
   * @param {Draft[string]} input
   */
  input(field, { text, isPresent }) {
    const set = (/** @type {Partial<Draft[string]>} */ change) =>
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
            onChange=${(/** @type {Event & { currentTarget: HTMLInputElement }} */ event) => set({ isPresent: event.currentTarget.checked })}
          />
          It has ${/^[aeiou]/.test(label) ? "an" : "a"} ${label}
        </label>`
      }
      ${isPresent && html`<${FieldInput} field=${field} value=${text} isMultiline onText=${(/** @type {string} */ typed) => set({ text: typed })} />`}
    `;
  }

  /** @param {Plant} plant */
  confirmation(plant) {
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

  /** @param {Plant} plant */
  deletion(plant) {
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

/**
 * The plant without its creation.
 *
 * @param {Plant} plant
 * @returns {Fields}
 */
function fieldsOf({ createdAt: _at, token: _token, ...fields }) {
  return fields;
}

/** A text as a textarea has it, whose line ends are all line feeds. @param {string} text */
function toLineFeeds(text) {
  return text.replace(/\r\n?/g, "\n");
}

/**
 * The text of a textarea with the line ends of the stored text, by their position: a client's
 * repeat compares them.
 *
 * @param {string} text
 * @param {string} stored
 */
function restoreLineEnds(text, stored) {
  const ends = stored.match(/\r\n?|\n/g) ?? [];
  let line = 0;
  return text.replace(/\n/g, () => ends[line++] ?? ends.at(-1) ?? "\n");
}

/** @param {Fields} fields */
function texts({ id: _, ...fields }) {
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

/**
 * The plant as a body of POST /plants: the id has digits that a number in JavaScript would lose.
 *
 * @param {Fields} fields
 */
function bodyOf({ id, ...fields }) {
  const present = Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== null));
  return `{"id":${id},${JSON.stringify(present).slice(1)}`;
}

/** @param {string} text */
function formatLength(text) {
  const length = Array.from(text).length;
  const truncated =
    text.length > shownCharactersMax
      ? `, the first ${shownCharactersMax.toLocaleString("en-US")} are shown`
      : "";
  return `${length.toLocaleString("en-US")} ${length === 1 ? "character" : "characters"}${truncated}`;
}
