// The rules of a sandbox: a list, and a form that adds one, field by field or as JSON.

import { control, errorMessage } from "./api.js";
import { ErrorMessage, FormDialog } from "./dialogs.js";
import { formatExactJson } from "./exact-json.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { TextField } from "./text-field.js";
import { formatCount } from "./units.js";

/**
 * @typedef {{ id: string, applied: number, times?: number, match?: Record<string, unknown>, outcome: Record<string, unknown> }} Rule
 * @typedef {{ seed: number, rules: Rule[] }} RuleList
 * @typedef {{ method: string, tag: string, id: string, header: string, headerValue: string, share: string, times: string,
 *   error: string, commit: boolean, delay: string, drop: string, body: string, bytesPerSecond: string }} Fields
 */

/** The codes of the interface, with what they say. */
const errors = {
  40000: "Content-Length is not a number",
  40001: "the body is not JSON",
  40002: "the body is not a plant",
  40003: "text that cannot be stored",
  40009: "another plant with this id",
  40100: "no token",
  40101: "the token is not accepted",
  40400: "no such path",
  40500: "the method is not allowed",
  40800: "the body came too slowly",
  41300: "the body is too large",
  41500: "not application/json",
  42900: "too many requests",
  50000: "internal error",
  50300: "overloaded",
};

/** @extends {Component<{ list: RuleList, onChanged: () => Promise<void> }, { isAdding: boolean, error: string }>} */
export class SandboxRules extends Component {
  /** @override */
  state = { isAdding: false, error: "" };

  /** @param {string} path of one rule, or of all. */
  async remove(path) {
    this.setState({ error: "" });
    try {
      await control("DELETE", path);
      await this.props.onChanged();
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { list, onChanged } = this.props;
    const { isAdding, error } = this.state;
    return html`
      <div role="group" aria-labelledby="sandbox-rules" class="rules">
        <div class="heading">
          <h3 id="sandbox-rules">Rules</h3>
          ${list.rules.length > 1 && html`<button type="button" class="quiet" onClick=${() => this.remove("/rules")}>Remove all</button>`}
          <button type="button" onClick=${() => this.setState({ isAdding: true })}>Add a rule</button>
        </div>
        <p class="note">The first rule that matches a request forces its outcome. Shares and delays are drawn with the seed ${list.seed}, so that a run repeats.</p>
        <${ErrorMessage} text=${error} />
        ${list.rules.length === 0 && html`<p class="empty">No rule: every request gets its real response.</p>`}
        <ul class="rows">
          ${list.rules.map(
            (rule) => html`
              <li key=${rule.id}>
                <div class="grow">
                  <span class="name">${rule.id}</span> <span class="chip">${appliedText(rule)}</span>
                  <small>${untrustedText(describe(rule))}</small>
                </div>
                <button type="button" class="quiet" aria-label=${`Remove ${rule.id}`} onClick=${() => this.remove(`/rules/${rule.id}`)}>Remove</button>
              </li>
            `,
          )}
        </ul>
        ${isAdding && html`<${AddRule} onAdded=${onChanged} onClose=${() => this.setState({ isAdding: false })} />`}
      </div>
    `;
  }
}

/** @param {Rule} rule */
function appliedText({ applied, times }) {
  return times === undefined ? formatCount(applied, "request") : `${applied} of ${times}`;
}

/** A rule in one line, as JSON without quotes around names. @param {Rule} rule */
function describe({ match = {}, outcome }) {
  const plain = (/** @type {object} */ part) =>
    Object.entries(part)
      .map(([name, value]) => `${name} ${formatExactJson(value).replaceAll(/\s+/g, " ")}`)
      .join(", ");
  const when = Object.keys(match).length === 0 ? "every request" : plain(match);
  return `${when} → ${plain(outcome)}`;
}

/** @type {Fields} */
const emptyFields = {
  ...{ method: "POST", tag: "", id: "", header: "", headerValue: "", share: "", times: "" },
  ...{ error: "42900", commit: false, delay: "", drop: "", body: "", bytesPerSecond: "" },
};

/**
 * `json` is what is sent: it follows the fields, until it is edited itself.
 *
 * @extends {Component<{ onAdded: () => Promise<void>, onClose: () => void },
 *   { fields: Fields, json: string, isJson: boolean, error: string, isBusy: boolean }>}
 */
class AddRule extends Component {
  /** @override */
  state = { fields: emptyFields, json: toJson(emptyFields), isJson: false, error: "", isBusy: false };

  /** @param {Partial<Fields>} change */
  change(change) {
    const fields = { ...this.state.fields, ...change };
    this.setState({ fields, json: toJson(fields), error: "" });
  }

  async submit() {
    this.setState({ isBusy: true, error: "" });
    try {
      await control("POST", "/rules", this.state.json);
      await this.props.onAdded();
      this.props.onClose();
    } catch (error) {
      this.setState({ isBusy: false, error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { json, isJson, error, isBusy } = this.state;
    const choose = (/** @type {boolean} */ to) => () => this.setState({ isJson: to });
    return html`
      <${FormDialog}
        title="Add a rule"
        action="Add rule"
        dismissal="Cancel"
        error=${error}
        isBusy=${isBusy}
        onSubmit=${() => this.submit()}
        onClose=${this.props.onClose}
      >
        <fieldset class="choices">
          <legend>Written</legend>
          <label><input type="radio" name="form" checked=${!isJson} onChange=${choose(false)} /> by fields</label>
          <label><input type="radio" name="form" checked=${isJson} onChange=${choose(true)} /> as JSON</label>
        </fieldset>
        ${
          isJson
            ? html`<label class="field"><span>Rule</span>
                <textarea
                  rows="14"
                  class="mono"
                  spellcheck=${false}
                  value=${json}
                  onInput=${(/** @type {InputEvent & { currentTarget: HTMLTextAreaElement }} */ event) => this.setState({ json: event.currentTarget.value, error: "" })}
                ></textarea>
              </label>`
            : this.fields()
        }
      <//>
    `;
  }

  fields() {
    const { fields } = this.state;
    const select = (
      /** @type {keyof Fields} */ name,
      /** @type {string} */ label,
      /** @type {[value: string, text: string][]} */ options,
    ) => html`
      <label><span>${label}</span>
        <select
          value=${fields[name]}
          onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) => this.change({ [name]: event.currentTarget.value })}
        >
          ${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
        </select>
      </label>
    `;
    const text = (
      /** @type {keyof Fields} */ name,
      /** @type {string} */ label,
      /** @type {string} */ hint,
    ) => html`
      <${TextField}
        label=${label}
        name=${`rule-${name}`}
        placeholder=${hint}
        value=${String(fields[name])}
        onText=${(/** @type {string} */ typed) => this.change({ [name]: typed })}
      />
    `;
    return html`
      <fieldset class="group">
        <legend>Which requests</legend>
        <div class="options">
          ${select("method", "Method", [
            ["POST", "POST"],
            ["", "any"],
            ["GET", "GET"],
            ["OPTIONS", "OPTIONS"],
          ])}
          ${text("tag", "Tag of the plant", "any")}
          ${text("id", "Id of the plant", "any")}
          ${text("header", "Header", "such as X-Test")}
          ${text("headerValue", "Its value", "")}
          ${text("share", "Share in %", "100")}
          ${text("times", "At most, times", "unlimited")}
        </div>
      </fieldset>
      <fieldset class="group">
        <legend>What happens</legend>
        <div class="options">
          ${select("error", "Error", [
            ["", "none"],
            ...Object.entries(errors).map(
              ([code, meaning]) => /** @type {[string, string]} */ ([code, `${code} ${meaning}`]),
            ),
          ])}
          ${text("delay", "Delay in seconds", "0")}
          ${select("drop", "Connection", [
            ["", "stays open"],
            ["beforeCommit", "closed before the commit"],
            ["afterCommit", "closed after the commit"],
          ])}
          ${select("body", "Body", [
            ["", "complete"],
            ["truncated", "cut off"],
            ["wrongLength", "with a wrong length"],
            ["brokenChunk", "with a broken chunk"],
            ["garbage", "bytes that are not HTTP"],
          ])}
          ${text("bytesPerSecond", "Bytes per second", "unlimited")}
          <label class="check">
            <input type="checkbox" checked=${fields.commit} disabled=${fields.error === ""} onChange=${() => this.change({ commit: !fields.commit })} />
            ${" "}The plant is stored before the error is sent
          </label>
        </div>
      </fieldset>
    `;
  }
}

/** The rule of the fields, as JSON. The server rejects values that are no numbers. @param {Fields} fields */
function toJson(fields) {
  const number = (/** @type {string} */ text) =>
    text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
  const share = number(fields.share);
  const match = {
    ...(fields.method !== "" && { method: fields.method }),
    ...(fields.header !== "" && { headers: { [fields.header]: fields.headerValue } }),
    ...(fields.id !== "" && {
      id: /^-?\d{1,30}$/.test(fields.id.trim()) ? BigInt(fields.id.trim()) : fields.id,
    }),
    ...(fields.tag !== "" && { tag: fields.tag }),
    ...(fields.share !== "" && { share: typeof share === "number" ? share / 100 : share }),
  };
  const outcome = {
    ...(fields.error !== "" && { error: Number(fields.error) }),
    ...(fields.error !== "" && fields.commit && { commit: true }),
    ...(fields.delay !== "" && { delay: { seconds: number(fields.delay) } }),
    ...(fields.drop !== "" && { drop: fields.drop }),
    ...(fields.body !== "" && { body: fields.body }),
    ...(fields.bytesPerSecond !== "" && { bytesPerSecond: number(fields.bytesPerSecond) }),
  };
  return formatExactJson({ match, ...(fields.times !== "" && { times: number(fields.times) }), outcome });
}
