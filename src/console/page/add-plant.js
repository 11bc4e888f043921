// The form that adds a plant: it sends POST /plants, as the operator or with a pasted token, and
// shows the response at the field that it is about.

import { errorMessage, post } from "./api.js";
import { FormDialog } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component, createRef } from "./library/preact.js";
import { FieldInput, fieldNames, isRequired, toValue, typeOf } from "./plant-fields.js";
import { TextField } from "./text-field.js";

/**
 * @typedef {{ status: number, headers: [name: string, value: string][], body: string }} CreateResponse
 * @typedef {Readonly<Record<string, string>>} Draft The id and the fields as typed.
 * @typedef {Readonly<Record<string, string | undefined>>} FieldErrors Also that of the token.
 * @typedef {{ draft: Draft, isOperator: boolean, sent: Draft | null,
 *   response: CreateResponse | null, fieldErrors: FieldErrors, error: string, isBusy: boolean }} State
 */

/** Matches a signed 64-bit integer. */
const idMin = -(2n ** 63n);
const idMax = 2n ** 63n - 1n;

/** @type {Draft} */
const emptyDraft = Object.fromEntries(["id", ...fieldNames].map((name) => [name, ""]));

/**
 * @extends {Component<{ token: string, onToken: (token: string) => void, onCreated: () => void, onClose: () => void },
 *   State>}
 */
export class AddPlant extends Component {
  /** @override @type {State} */
  state = {
    draft: emptyDraft,
    isOperator: true,
    /** The plant that was sent. */
    sent: null,
    response: null,
    fieldErrors: {},
    error: "",
    isBusy: false,
  };
  /** @type {{ current: HTMLElement | null }} */
  fields = createRef();

  async submit() {
    const { draft, isOperator } = this.state;
    const token = isOperator ? "" : this.props.token;
    if (!isOperator && token === "") {
      this.setState({
        response: null,
        fieldErrors: { token: "Paste a token, or add the plant as the operator." },
      });
      this.focus("token");
      return;
    }
    this.setState({ isBusy: true, error: "", response: null, fieldErrors: {} });
    try {
      /** @type {CreateResponse} */
      const response = await post("plants", { token, body: newPlantJson(draft) });
      this.showResponse(response, draft);
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.setState({ isBusy: false });
  }

  /**
   * @param {CreateResponse} response
   * @param {Draft} sent
   */
  showResponse(response, sent) {
    const fieldErrors = response.status === 200 ? {} : explain(response, sent);
    const hasField = Object.keys(fieldErrors).length > 0;
    const error =
      response.status === 200 || hasField
        ? ""
        : String(parseBody(response).message ?? "The plant was not added.");
    this.setState({ response, sent, fieldErrors, error });
    if (response.status === 200) {
      this.props.onCreated();
      // Text typed since the request belongs to the next plant.
      if (this.state.draft !== sent) return;
      this.setState({ draft: emptyDraft });
      this.focus("id");
    } else if (hasField) this.focus(Object.keys(fieldErrors)[0] ?? "id");
  }

  /** @param {string} name */
  focus(name) {
    const input = this.fields.current?.querySelector(`[name="${name}"]`);
    if (input instanceof HTMLElement) input.focus();
  }

  /** @param {string} name */
  field(name) {
    const onText = (/** @type {string} */ text) =>
      this.setState({
        ...this.state,
        draft: { ...this.state.draft, [name]: text },
        fieldErrors: { ...this.state.fieldErrors, [name]: undefined },
      });
    return { value: this.state.draft[name] ?? "", onText, error: this.state.fieldErrors[name] ?? "" };
  }

  /** @override */
  render() {
    const { onClose } = this.props;
    const { response, sent, error, isBusy } = this.state;
    return html`
      <${FormDialog}
        title="Add a plant"
        action="Add plant"
        dismissal="Close"
        error=${error}
        isBusy=${isBusy}
        onSubmit=${() => this.submit()}
        onClose=${onClose}
      >
        <div ref=${this.fields}>
          <${TextField} label="Id" name="id" inputmode="numeric" autofocus hint="A whole number, such as 42" ...${this.field("id")} />
          ${fieldNames.map((field) => html`<${FieldInput} field=${field} isOptional=${!isRequired(field)} ...${this.field(field)} />`)}
          ${this.tokenFields()}
        </div>
        <div role="status">
          ${response?.status === 200 && sent !== null && html`<p class="response ok">${successText(sent)}</p>`}
        </div>
        ${response !== null && html`<${ExactResponse} ...${response} />`}
      <//>
    `;
  }

  tokenFields() {
    const { token, onToken } = this.props;
    const { isOperator, fieldErrors } = this.state;
    const choose = (/** @type {boolean} */ isOwn) => () =>
      this.setState({ isOperator: isOwn, fieldErrors: { ...fieldErrors, token: undefined } });
    return html`
      <fieldset class="choices">
        <legend>Added with</legend>
        <label><input type="radio" name="sender" checked=${isOperator} onChange=${choose(true)} /> the rights of the operator</label>
        <label><input type="radio" name="sender" checked=${!isOperator} onChange=${choose(false)} /> a token, as a client</label>
      </fieldset>
      ${
        !isOperator &&
        html`<${TextField}
          label="Token"
          name="token"
          type="password"
          placeholder="pst_…"
          value=${token}
          error=${fieldErrors.token ?? ""}
          onText=${(/** @type {string} */ text) => {
            this.setState({ fieldErrors: { ...fieldErrors, token: undefined } });
            onToken(text.trim());
          }}
        />`
      }
    `;
  }
}

/** The response as a client gets it. @param {CreateResponse} response */
function ExactResponse({ status, headers, body }) {
  const code = parseBody({ status, headers, body }).error;
  return html`
    <details class="exact">
      <summary>Response of the interface: ${status}${code === undefined ? "" : `, error ${code}`}</summary>
      <pre tabindex="0" aria-label="Response">HTTP ${status}${"\n"}${headers.map(([name, value]) => `${name}: ${value}\n`).join("")}${"\n"}<bdi>${body}</bdi></pre>
    </details>
  `;
}

/**
 * @param {CreateResponse} response
 * @returns {{ error?: number, message?: string, name?: string }}
 */
function parseBody({ body }) {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

/** @param {Draft} sent */
function successText({ id = "", name = "" }) {
  return html`Plant ${id.trim()}, ${untrustedText(name)}, is stored.${" "}<span class="faint">Sent again, it changes nothing.</span>`;
}

/**
 * The error of each field, in words for people; none for an error that is not about a field.
 *
 * @param {CreateResponse} response
 * @param {Draft} sent
 * @returns {FieldErrors}
 */
function explain(response, { id = "", ...texts }) {
  const { error } = parseBody(response);
  if (error === 40009) return { id: `Another plant with the id ${id.trim()} is stored. Choose another id.` };
  if (error === 40100 || error === 40101)
    return {
      token: "This token is not accepted: it is unknown, revoked or expired.",
    };
  if (error !== 40001 && error !== 40002 && error !== 40003) return {};
  const found = [
    ["id", idError(id)],
    ...Object.entries(texts).map(([field, text]) => [field, textError(text)]),
  ];
  return Object.fromEntries(found.filter(([, text]) => text !== undefined));
}

/** @param {string} text */
function idError(text) {
  const id = text.trim();
  if (id === "") return "Enter an id: a whole number, such as 42.";
  if (!/^-?\d+$/.test(id)) return "An id is a whole number, without letters, spaces or a decimal point.";
  if (/^-?0\d/.test(id)) return `An id has no leading zero: ${BigInt(id)}.`;
  const value = BigInt(id);
  if (value < idMin || value > idMax)
    return "This id is too large: the highest is 9,223,372,036,854,775,807.";
  return undefined;
}

/** @param {string} text */
function textError(text) {
  if (text.includes("\0")) return "The character U+0000 cannot be stored; remove it.";
  if (!text.isWellFormed()) return "It ends in half of a character; remove the last one.";
  return undefined;
}

/**
 * The JSON text of a NewPlant with the digits of the id as typed: a number in JavaScript is not
 * exact past 2^53.
 *
 * @param {Draft} draft
 */
function newPlantJson({ id = "", ...texts }) {
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(id.trim());
  const present = Object.entries(texts).filter(
    ([field, text]) => text !== "" || (isRequired(field) && typeOf(field) === "text"),
  );
  const rest = JSON.stringify(
    Object.fromEntries(present.map(([field, text]) => [field, toValue(field, text)])),
  );
  return `{"id":${isNumber ? id.trim() : JSON.stringify(id)},${rest.slice(1)}`;
}
