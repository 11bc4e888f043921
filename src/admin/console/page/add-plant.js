// The form that adds a plant: it sends POST /plants with a token, as any client does, and shows the response.

import { errorMessage, post } from "./api.js";
import { Dialog, ErrorMessage } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";

/**
 * @typedef {{ status: number, requestId: string, body: { name?: string, tag?: string, error?: number, message?: string } }} CreateResponse
 * @typedef {{ id: string, name: string, tag: string, response: CreateResponse | null, error: string, isBusy: boolean }} State
 */

/**
 * @extends {Component<{ token: string, onToken: (token: string) => void, onCreated: () => void, onClose: () => void },
 *   State>}
 */
export class AddPlant extends Component {
  /** @override @type {State} */
  state = { id: "", name: "", tag: "", response: null, error: "", isBusy: false };

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    const { id, name, tag } = this.state;
    this.setState({ isBusy: true, error: "", response: null });
    try {
      /** @type {CreateResponse} */
      const response = await post("plants", { token: this.props.token, body: newPlantJson(id, name, tag) });
      this.setState({ response });
      if (response.status === 200) this.props.onCreated();
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.setState({ isBusy: false });
  }

  /**
   * @param {"id" | "name" | "tag"} field
   * @returns {(event: InputEvent & { currentTarget: HTMLInputElement }) => void}
   */
  onInput(field) {
    return ({ currentTarget: { value } }) =>
      this.setState(/** @type {Pick<State, typeof field>} */ ({ [field]: value }));
  }

  /** @override */
  render() {
    const { token, onToken, onClose } = this.props;
    const { id, name, tag, response, error, isBusy } = this.state;
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
            <input name="id" inputmode="numeric" autocomplete="off" value=${id} onInput=${this.onInput("id")} />
          </label>
          <label>Name <input name="name" autocomplete="off" value=${name} onInput=${this.onInput("name")} /></label>
          <label>
            Tag <span class="faint">(optional)</span>
            <input name="tag" autocomplete="off" value=${tag} onInput=${this.onInput("tag")} />
          </label>
          <${ErrorMessage} text=${error} />
          <div role="status">${response !== null && html`<${ResponseMessage} ...${response} />`}</div>
          <div class="actions">
            <button type="button" onClick=${onClose}>Close</button>
            <button class="main" disabled=${isBusy}>Send POST /plants</button>
          </div>
        </form>
      <//>
    `;
  }
}

/** @param {CreateResponse} response */
function ResponseMessage({ status, requestId, body }) {
  const isOk = status === 200;
  return html`
    <div class=${`response ${isOk ? "ok" : ""}`}>
      <b>${status}${body.error === undefined ? "" : `, error ${body.error}`}</b>
      <span>${isOk ? html`${untrustedText(body.name ?? "")} is stored.` : untrustedText(body.message ?? "")}</span>
      <span class="faint">Request ${requestId}</span>
    </div>
  `;
}

/**
 * The JSON text of a NewPlant with the digits of the id as typed: a number in JavaScript is not exact past 2^53.
 *
 * @param {string} id
 * @param {string} name
 * @param {string} tag
 */
function newPlantJson(id, name, tag) {
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(id.trim());
  const rest = JSON.stringify(tag === "" ? { name } : { name, tag });
  return `{"id":${isNumber ? id.trim() : JSON.stringify(id)},${rest.slice(1)}`;
}
