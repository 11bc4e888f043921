// The list of tokens, with dialogs to issue and revoke them.

import { errorMessage, get, post } from "./api.js";
import { Confirmation, Dialog, ErrorMessage, FormDialog } from "./dialogs.js";
import { formatDate, html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { ReloadingSection } from "./reloading-section.js";
import { TextField } from "./text-field.js";

/**
 * @typedef {{ name: string, state: string, created: string, expires: string | null, revoked: string | null,
 *   lastUsed: string | null }} TokenSummary
 * @typedef {{ tokens: TokenSummary[] | null, error: string, revoking: string | null, isIssuing: boolean,
 *   showsEnded: boolean }} State
 */

/** All others are active. @type {Record<string, string | undefined>} */
const stateLabels = { rotated: "Rotated", expired: "Expired", revoked: "Revoked" };

/** @param {TokenSummary} token */
function hasEnded({ state }) {
  return state === "expired" || state === "revoked";
}

/** @extends {ReloadingSection<{ slowTick: number, onIssued: (token: string) => void }, State>} */
export class Tokens extends ReloadingSection {
  /** @override @type {State} */
  state = { tokens: null, error: "", revoking: null, isIssuing: false, showsEnded: false };

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
    const { tokens, error, revoking, isIssuing, showsEnded } = this.state;
    const ended = tokens?.filter(hasEnded) ?? [];
    const shown = tokens?.filter((token) => showsEnded || !hasEnded(token)) ?? [];
    return html`
      <section class="card tokens" aria-labelledby="tokens-title">
        <header>
          <h2 id="tokens-title">Tokens</h2>
          <button type="button" onClick=${() => this.setState({ isIssuing: true })}>Issue a token</button>
        </header>
        <${ErrorMessage} text=${error} />
        ${tokens !== null && shown.length === 0 && html`<p class="empty">There are no active tokens.</p>`}
        <ul class="rows">
          ${shown.toReversed().map(
            (token) => html`
              <li key=${`${token.name} ${token.created}`}>
                <div class="grow">
                  <span class="name">${untrustedText(token.name)}</span>
                  <span class=${`badge ${token.state in stateLabels ? token.state : "active"}`}>${stateLabels[token.state] ?? "Active"}</span>
                  <small>
                    ${token.lastUsed === null ? "never used" : html`last used ${formatDate(token.lastUsed)}`} ·${" "}
                    ${token.expires === null ? "no expiry" : html`expires ${formatDate(token.expires)}`}
                  </small>
                </div>
                ${
                  !hasEnded(token) &&
                  html`<button type="button" aria-label=${`Revoke ${token.name}`} onClick=${() => this.setState({ revoking: token.name })}>Revoke</button>`
                }
              </li>
            `,
          )}
        </ul>
        ${
          ended.length > 0 &&
          html`
            <button type="button" class="link" aria-expanded=${showsEnded} onClick=${() => this.setState({ showsEnded: !showsEnded })}>
              ${showsEnded ? "Hide" : "Show"} ${ended.length} expired or revoked
            </button>
          `
        }
        ${
          revoking !== null &&
          html`
            <${Confirmation}
              title="Revoke this token?"
              action="Revoke"
              onConfirm=${() => this.revoke(revoking)}
              onClose=${() => this.setState({ revoking: null })}
            >
              <p>
                All tokens named ${untrustedText(revoking)} stop working within 2 seconds on every running server. This cannot be undone.
              </p>
            <//>
          `
        }
        ${
          isIssuing &&
          html`<${IssueToken}
            onIssued=${(/** @type {string} */ token) => {
              this.props.onIssued(token);
              void this.load();
            }}
            onClose=${() => this.setState({ isIssuing: false })}
          />`
        }
      </section>
    `;
  }
}

/**
 * @extends {Component<{ onIssued: (token: string) => void, onClose: () => void },
 *   { name: string, expires: string, token: string, error: string, isCopied: boolean, isBusy: boolean }>}
 */
class IssueToken extends Component {
  /** @override */
  state = { name: "", expires: "90d", token: "", error: "", isCopied: false, isBusy: false };

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

  async copy() {
    try {
      await navigator.clipboard.writeText(this.state.token);
      this.setState({ isCopied: true });
    } catch {
      // Without TLS, browsers allow the clipboard on localhost only.
      this.setState({ error: "The browser does not allow copying here; select the token and copy it." });
    }
  }

  /** @override */
  render() {
    const { name, expires, token, error, isCopied, isBusy } = this.state;
    const { onClose } = this.props;
    if (token !== "")
      return html`
        <${Dialog} title="Token issued" onClose=${onClose}>
          <p>It is shown only once. Copy it now, and store it as a secret.</p>
          <output class="token" aria-label="Token">${token}</output>
          <${ErrorMessage} text=${error} />
          <div class="actions">
            <span role="status">${isCopied ? "Copied." : ""}</span>
            <button type="button" onClick=${() => this.copy()}>Copy</button>
            <button type="button" class="main" onClick=${onClose}>Done</button>
          </div>
        <//>
      `;
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
          placeholder="such as ci"
          value=${name}
          onText=${(/** @type {string} */ text) => this.setState({ name: text })}
        />
        <label>
          Expires
          <select
            name="expires"
            value=${expires}
            onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
              this.setState({ expires: event.currentTarget.value })}
          >
            <option value="1d">in 1 day</option>
            <option value="30d">in 30 days</option>
            <option value="90d">in 90 days</option>
            <option value="365d">in 365 days</option>
            <option value="">never</option>
          </select>
        </label>
      <//>
    `;
  }
}
