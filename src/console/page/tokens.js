// The list of tokens, with dialogs to issue, rotate and revoke them.

import { errorMessage, get, post } from "./api.js";
import { Confirmation, Dialog, ErrorMessage, FormDialog } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { ReloadingSection } from "./reloading-section.js";
import { TextField } from "./text-field.js";
import { relativeTime } from "./units.js";

/**
 * @typedef {{ name: string, state: string, created: string, expires: string | null, revoked: string | null,
 *   lastUsed: string | null }} TokenSummary
 * @typedef {{ kind: "issue" | "rotate" | "revoke", name: string }} Change
 * @typedef {{ tokens: TokenSummary[] | null, error: string, change: Change | null, showsEnded: boolean }} State
 */

/** All others are active. @type {Record<string, string | undefined>} */
const stateLabels = { rotated: "Replaced", expired: "Expired", revoked: "Revoked" };

/** @param {TokenSummary} token */
function hasEnded({ state }) {
  return state === "expired" || state === "revoked";
}

/** @extends {ReloadingSection<{ slowTick: number, onIssued: (token: string) => void }, State>} */
export class Tokens extends ReloadingSection {
  /** @override @type {State} */
  state = { tokens: null, error: "", change: null, showsEnded: false };

  /** @override */
  async fetchData() {
    return { tokens: await get("tokens") };
  }

  /** @param {string} name */
  async revoke(name) {
    await post("tokens/revoke", { name });
    await this.load();
  }

  /** @override */
  render() {
    const { tokens, error, showsEnded } = this.state;
    const ended = tokens?.filter(hasEnded).toReversed() ?? [];
    const active = tokens?.filter((token) => !hasEnded(token)).toReversed() ?? [];
    return html`
      <section class="card tokens" aria-labelledby="tokens-title">
        <header>
          <h2 id="tokens-title">Tokens</h2>
          <button type="button" onClick=${() => this.setState({ change: { kind: "issue", name: "" } })}>Issue a token</button>
        </header>
        <${ErrorMessage} text=${error} />
        ${tokens !== null && active.length === 0 && html`<p class="empty">No token is active. Issue one for each client that creates plants.</p>`}
        <ul class="rows">
          ${active.map((token) => this.row(token))}
        </ul>
        ${
          ended.length > 0 &&
          html`
            <button type="button" class="link" aria-expanded=${showsEnded} onClick=${() => this.setState({ showsEnded: !showsEnded })}>
              ${showsEnded ? "Hide" : "Show"} ${ended.length} expired or revoked
            </button>
            ${
              showsEnded &&
              html`
                <ul class="rows ended">
                  ${ended.map((token) => this.row(token))}
                </ul>
              `
            }
          `
        }
        ${this.dialog()}
      </section>
    `;
  }

  /** @param {TokenSummary} token */
  row(token) {
    const { name, state } = token;
    const change = (/** @type {Change["kind"]} */ kind) => () => this.setState({ change: { kind, name } });
    return html`
      <li key=${`${name} ${token.created}`}>
        <div class="grow">
          <span class="name cut" title=${name}>${untrustedText(name)}</span>
          <small>
            <span class=${`state ${state in stateLabels ? state : "active"}`}>${stateLabels[state] ?? "Active"}</span>
            ${tokenFacts(token).map((fact) => html` · ${fact}`)}
          </small>
        </div>
        ${
          !hasEnded(token) &&
          html`
            ${
              state === "active" &&
              html`<button type="button" class="quiet" aria-label=${`Rotate ${name}`} onClick=${change("rotate")}>Rotate</button>`
            }
            <button type="button" class="quiet" aria-label=${`Revoke ${name}`} onClick=${change("revoke")}>Revoke</button>
          `
        }
      </li>
    `;
  }

  dialog() {
    const { change } = this.state;
    if (change === null) return null;
    const { kind, name } = change;
    const onClose = () => this.setState({ change: null });
    if (kind === "revoke")
      return html`
        <${Confirmation} title="Revoke this token?" action="Revoke" onConfirm=${() => this.revoke(name)} onClose=${onClose}>
          <p>
            All tokens named ${untrustedText(name)} stop working within 2 seconds on every running server. This cannot be undone.
          </p>
        <//>
      `;
    const onIssued = (/** @type {string} */ token) => {
      this.props.onIssued(token);
      void this.load();
    };
    const Form = kind === "issue" ? IssueToken : RotateToken;
    return html`<${Form} name=${name} onIssued=${onIssued} onClose=${onClose} />`;
  }
}

/** Describes a token in plain words. @param {TokenSummary} token */
function tokenFacts({ state, revoked, expires, lastUsed }) {
  const use = lastUsed === null ? "no use recorded" : html`used ${relativeTime(lastUsed)}`;
  if (state === "revoked" && revoked !== null) return [html`revoked ${relativeTime(revoked)}`, use];
  if (expires === null) return [use, "no expiry"];
  return [
    use,
    html`${state === "expired" ? "expired" : state === "rotated" ? "ends" : "expires"} ${relativeTime(expires)}`,
  ];
}

/**
 * @typedef {{ name: string, onIssued: (token: string) => void, onClose: () => void }} TokenFormProperties
 */

/** @extends {Component<TokenFormProperties, { name: string, expires: string, token: string, error: string, isBusy: boolean }>} */
class IssueToken extends Component {
  /** @override */
  state = { name: "", expires: "90d", token: "", error: "", isBusy: false };

  async submit() {
    const { name, expires } = this.state;
    this.setState({ isBusy: true, error: "" });
    try {
      const { token } = await post("tokens", { name, expires });
      this.setState({ token });
      this.props.onIssued(token);
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.setState({ isBusy: false });
  }

  /** @override */
  render() {
    const { name, expires, token, error, isBusy } = this.state;
    const { onClose } = this.props;
    if (token !== "") return html`<${ShownToken} title="Token issued" token=${token} onClose=${onClose} />`;
    return html`
      <${FormDialog}
        title="Issue a token"
        action="Issue"
        dismissal="Cancel"
        error=${error}
        isBusy=${isBusy}
        onSubmit=${() => this.submit()}
        onClose=${onClose}
      >
        <${TextField}
          label="Name"
          name="name"
          required
          autofocus
          hint="The client that uses it, such as ci. The log and this list show it."
          value=${name}
          onText=${(/** @type {string} */ text) => this.setState({ name: text })}
        />
        <${Choice}
          label="Expires"
          name="expires"
          value=${expires}
          options=${expiries}
          onChoice=${(/** @type {string} */ value) => this.setState({ expires: value })}
        />
      <//>
    `;
  }
}

/** @extends {Component<TokenFormProperties, { overlap: string, expires: string, token: string, ends: string, error: string, isBusy: boolean }>} */
class RotateToken extends Component {
  /** @override */
  state = { overlap: "7d", expires: "same", token: "", ends: "", error: "", isBusy: false };

  async submit() {
    const { overlap, expires } = this.state;
    this.setState({ isBusy: true, error: "" });
    try {
      const { token, predecessorEnds } = await post("tokens/rotate", {
        name: this.props.name,
        overlap,
        expires,
      });
      this.setState({ token, ends: predecessorEnds });
      this.props.onIssued(token);
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.setState({ isBusy: false });
  }

  /** @override */
  render() {
    const { overlap, expires, token, ends, error, isBusy } = this.state;
    const { name, onClose } = this.props;
    if (token !== "")
      return html`
        <${ShownToken} title="Token rotated" token=${token} onClose=${onClose}>
          <p>The previous token of ${untrustedText(name)} ${Date.parse(ends) > Date.now() ? html`works for the overlap: it ends ${relativeTime(ends)}` : "has ended"}.</p>
        <//>
      `;
    return html`
      <${FormDialog}
        title=${html`Rotate ${untrustedText(name)}`}
        action="Rotate"
        dismissal="Cancel"
        error=${error}
        isBusy=${isBusy}
        onSubmit=${() => this.submit()}
        onClose=${onClose}
      >
        <p>A new token of the same name is issued. Give it to the client before the previous one ends.</p>
        <${Choice}
          label="The previous token ends"
          name="overlap"
          autofocus
          value=${overlap}
          options=${overlaps}
          onChoice=${(/** @type {string} */ value) => this.setState({ overlap: value })}
        />
        <${Choice}
          label="The new token expires"
          name="expires"
          value=${expires}
          options=${[["same", "after the same time as the previous one"], ...expiries]}
          onChoice=${(/** @type {string} */ value) => this.setState({ expires: value })}
        />
      <//>
    `;
  }
}

const expiries = [
  ["1d", "in 1 day"],
  ["30d", "in 30 days"],
  ["90d", "in 90 days"],
  ["365d", "in 365 days"],
  ["", "never"],
];

const overlaps = [
  ["1h", "in 1 hour"],
  ["1d", "in 1 day"],
  ["7d", "in 7 days"],
  ["30d", "in 30 days"],
  ["0s", "now"],
];

/**
 * @param {{ label: string, name: string, value: string, options: string[][], onChoice: (value: string) => void,
 *   autofocus?: boolean }} properties
 */
function Choice({ label, name, value, options, onChoice, autofocus }) {
  const onChange = (/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
    onChoice(event.currentTarget.value);
  return html`
    <div class="field">
      <label>
        <span>${label}</span>
        <select name=${name} value=${value} autofocus=${autofocus} onChange=${onChange}>
          ${options.map(([option, text]) => html`<option value=${option}>${text}</option>`)}
        </select>
      </label>
    </div>
  `;
}

/**
 * The dialog that shows a token, the only time.
 *
 * @extends {Component<{ title: string, token: string, onClose: () => void, children?: any }, { error: string, isCopied: boolean }>}
 */
class ShownToken extends Component {
  /** @override */
  state = { error: "", isCopied: false };

  async copy() {
    try {
      await navigator.clipboard.writeText(this.props.token);
      this.setState({ isCopied: true });
    } catch {
      // Without TLS, browsers allow the clipboard on localhost only.
      this.setState({ error: "The browser does not allow copying here; select the token and copy it." });
    }
  }

  /** @override */
  render() {
    const { title, token, onClose, children } = this.props;
    const { error, isCopied } = this.state;
    return html`
      <${Dialog} title=${title} onClose=${onClose}>
        <p>It is shown only once. Copy it now, and store it as a secret.</p>
        <output class="token" aria-label="Token">${token}</output>
        ${children}
        <${ErrorMessage} text=${error} />
        <div class="actions">
          <span role="status">${isCopied ? "Copied." : ""}</span>
          <button type="button" onClick=${() => this.copy()}>Copy</button>
          <button type="button" class="main" onClick=${onClose}>Done</button>
        </div>
      <//>
    `;
  }
}
