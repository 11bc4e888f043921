// Adds a plant through the real operation, with a token as any client, and shows its answer as it is.

import { sentenceOf, write } from "./api.js";
import { Dialog, Fault } from "./dialogs.js";
import { foreign, html } from "./format.js";
import { Component } from "./library/preact.js";

/**
 * @typedef {{ status: number, requestId: string, answer: { name?: string, tag?: string, error?: number, message?: string } }} Created
 * @typedef {{ id: string, name: string, tag: string, created: Created | null, fault: string, isBusy: boolean }} State
 */

/**
 * @extends {Component<{ token: string, onToken: (token: string) => void, onCreated: () => void, onClose: () => void },
 *   State>}
 */
export class AddPlant extends Component {
  /** @override @type {State} */
  state = { id: "", name: "", tag: "", created: null, fault: "", isBusy: false };

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    const { id, name, tag } = this.state;
    this.setState({ isBusy: true, fault: "", created: null });
    try {
      /** @type {Created} */
      const created = await write("plants", { token: this.props.token, body: bodyOf(id, name, tag) });
      this.setState({ created });
      if (created.status === 200) this.props.onCreated();
    } catch (error) {
      this.setState({ fault: sentenceOf(error) });
    }
    this.setState({ isBusy: false });
  }

  /**
   * @param {"id" | "name" | "tag"} field
   * @returns {(event: InputEvent & { currentTarget: HTMLInputElement }) => void}
   */
  taking(field) {
    return ({ currentTarget: { value } }) =>
      this.setState(/** @type {Pick<State, typeof field>} */ ({ [field]: value }));
  }

  /** @override */
  render() {
    const { token, onToken, onClose } = this.props;
    const { id, name, tag, created, fault, isBusy } = this.state;
    return html`
      <${Dialog} title="Add a plant" onClose=${onClose}>
        <form onSubmit=${(/** @type {SubmitEvent} */ event) => this.submit(event)}>
          <label>
            Token
            <input
              name="token"
              type="password"
              autocomplete="off"
              placeholder="pst_…"
              value=${token}
              onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
                onToken(event.currentTarget.value.trim())}
            />
          </label>
          <label>
            Id
            <input name="id" inputmode="numeric" autocomplete="off" value=${id} onInput=${this.taking("id")} />
          </label>
          <label>Name <input name="name" autocomplete="off" value=${name} onInput=${this.taking("name")} /></label>
          <label>
            Tag <span class="faint">(none if left empty)</span>
            <input name="tag" autocomplete="off" value=${tag} onInput=${this.taking("tag")} />
          </label>
          <${Fault} text=${fault} />
          <div role="status">${created !== null && html`<${Answer} ...${created} />`}</div>
          <div class="actions">
            <button type="button" onClick=${onClose}>Close</button>
            <button class="main" disabled=${isBusy}>Send POST /plants</button>
          </div>
        </form>
      <//>
    `;
  }
}

/** @param {Created} created */
function Answer({ status, requestId, answer }) {
  const isGood = status === 200;
  return html`
    <div class=${`answer ${isGood ? "good" : "bad"}`}>
      <b>${status}${answer.error === undefined ? "" : `, error ${answer.error}`}</b>
      <span>${isGood ? html`${foreign(answer.name ?? "")} is in the store.` : foreign(answer.message ?? "")}</span>
      <span class="faint">Request ${requestId}</span>
    </div>
  `;
}

/**
 * The body as a client would send it: the digits of the id as they are typed, as a number of JavaScript loses some.
 *
 * @param {string} id
 * @param {string} name
 * @param {string} tag
 */
function bodyOf(id, name, tag) {
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(id.trim());
  const rest = JSON.stringify(tag === "" ? { name } : { name, tag });
  return `{"id":${isNumber ? id.trim() : JSON.stringify(id)},${rest.slice(1)}`;
}
