// The form that adds a plant: it sends POST /plants with a token, as any client does, and shows the response.

import { errorMessage, post } from "./api.js";
import { FormDialog } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { TextField } from "./text-field.js";

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

  async submit() {
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

  /** @param {"id" | "name" | "tag"} name */
  field(name) {
    const onText = (/** @type {string} */ text) =>
      this.setState(/** @type {Pick<State, typeof name>} */ ({ [name]: text }));
    return { name, value: this.state[name], onText };
  }

  /** @override */
  render() {
    const { token, onToken, onClose } = this.props;
    const { response, error, isBusy } = this.state;
    return html`
      <${FormDialog}
        title="Add a plant"
        action="Send POST /plants"
        dismissal="Close"
        error=${error}
        isBusy=${isBusy}
        onSubmit=${() => this.submit()}
        onClose=${onClose}
      >
        <${TextField}
          label="Token"
          name="token"
          type="password"
          placeholder="pst_…"
          value=${token}
          onText=${(/** @type {string} */ text) => onToken(text.trim())}
        />
        <${TextField} label="Id" inputmode="numeric" ...${this.field("id")} />
        <${TextField} label="Name" ...${this.field("name")} />
        <${TextField} label=${html`Tag <span class="faint">(optional)</span>`} ...${this.field("tag")} />
        <div role="status">${response !== null && html`<${ResponseMessage} ...${response} />`}</div>
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
