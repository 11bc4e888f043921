// The tokens: who may create plants.

import { read, sentenceOf, write } from "./api.js";
import { Confirmation, Dialog, Fault } from "./dialogs.js";
import { foreign, html, moment } from "./format.js";
import { Component } from "./library/preact.js";

/**
 * @typedef {{ name: string, state: string, created: string, expires: string | null, revoked: string | null,
 *   lastUsed: string | null }} TokenSummary
 * @typedef {{ tokens: TokenSummary[] | null, fault: string, revoking: string | null, isIssuing: boolean,
 *   showsEnded: boolean }} State
 */

/** @extends {Component<{ slowBeat: number, onIssued: (token: string) => void }, State>} */
export class Tokens extends Component {
  /** @override @type {State} */
  state = { tokens: null, fault: "", revoking: null, isIssuing: false, showsEnded: false };

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /**
   * @override
   * @param {{ slowBeat: number }} before
   */
  componentDidUpdate(before) {
    if (before.slowBeat !== this.props.slowBeat) void this.load();
  }

  async load() {
    try {
      this.setState({ tokens: await read("tokens"), fault: "" });
    } catch (error) {
      this.setState({ fault: sentenceOf(error) });
    }
  }

  /** @param {string} name */
  async revoke(name) {
    await write("tokens/revoke", { name });
    await this.load();
  }

  /** @override */
  render() {
    const { tokens, fault, revoking, isIssuing, showsEnded } = this.state;
    const isInUse = (/** @type {TokenSummary} */ { state }) => state === "active" || state === "rotated";
    const ended = tokens?.filter((token) => !isInUse(token)) ?? [];
    const shown = tokens?.filter((token) => showsEnded || isInUse(token)) ?? [];
    return html`
      <section class="card tokens" aria-labelledby="tokens-title">
        <header>
          <h2 id="tokens-title">Tokens</h2>
          <button type="button" onClick=${() => this.setState({ isIssuing: true })}>Issue a token</button>
        </header>
        <${Fault} text=${fault} />
        ${tokens !== null && shown.length === 0 && html`<p class="nothing">No token is in force: nobody can create plants.</p>`}
        <ul class="rows">
          ${shown.toReversed().map(
            ({ name, state, created, expires, lastUsed }) => html`
              <li key=${`${name} ${created}`}>
                <div class="grow">
                  <span class="name">${foreign(name)}</span>
                  <span class=${`badge ${state.replace(" ", "-")}`}>${state}</span>
                  <small>
                    Last used ${moment(lastUsed, "never")} · ${expires === null ? "does not end" : html`ends ${moment(expires)}`}
                  </small>
                </div>
                ${
                  isInUse({ name, state, created, expires, lastUsed, revoked: null }) &&
                  html`<button type="button" aria-label=${`Revoke ${name}`} onClick=${() => this.setState({ revoking: name })}>Revoke</button>`
                }
              </li>
            `,
          )}
        </ul>
        ${
          ended.length > 0 &&
          html`
            <button type="button" class="link" aria-expanded=${showsEnded} onClick=${() => this.setState({ showsEnded: !showsEnded })}>
              ${showsEnded ? "Hide" : "Show"} ${ended.length} that ended
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
                All tokens named ${foreign(revoking)} are refused within 2 seconds, on every running server. That cannot be undone.
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
 *   { name: string, expires: string, token: string, fault: string, isCopied: boolean, isBusy: boolean }>}
 */
class IssueToken extends Component {
  /** @override */
  state = { name: "", expires: "90d", token: "", fault: "", isCopied: false, isBusy: false };

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    const { name, expires } = this.state;
    this.setState({ isBusy: true, fault: "" });
    try {
      const { token } = await write("tokens", { name, expires });
      this.setState({ token });
      this.props.onIssued(token);
    } catch (error) {
      this.setState({ fault: sentenceOf(error) });
    }
    this.setState({ isBusy: false });
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.state.token);
      this.setState({ isCopied: true });
    } catch {
      // Without TLS the browser has no clipboard for pages but those of this machine.
      this.setState({
        fault: "The browser does not let the page copy; select the token, and copy it yourself.",
      });
    }
  }

  /** @override */
  render() {
    const { name, expires, token, fault, isCopied, isBusy } = this.state;
    const { onClose } = this.props;
    if (token !== "")
      return html`
        <${Dialog} title="This is the token" onClose=${onClose}>
          <p>It is shown only this once. Keep it where its user keeps secrets.</p>
          <output class="token" aria-label="Token">${token}</output>
          <${Fault} text=${fault} />
          <div class="actions">
            <span role="status">${isCopied ? "Copied." : ""}</span>
            <button type="button" onClick=${() => this.copy()}>Copy</button>
            <button type="button" class="main" onClick=${onClose}>Done</button>
          </div>
        <//>
      `;
    return html`
      <${Dialog} title="Issue a token" onClose=${onClose}>
        <form onSubmit=${(/** @type {SubmitEvent} */ event) => this.submit(event)}>
          <label>
            Name
            <input
              name="name"
              required
              autocomplete="off"
              placeholder="who will use it"
              value=${name}
              onInput=${(/** @type {InputEvent & { currentTarget: HTMLInputElement }} */ event) =>
                this.setState({ name: event.currentTarget.value })}
            />
          </label>
          <label>
            Ends
            <select
              name="expires"
              value=${expires}
              onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
                this.setState({ expires: event.currentTarget.value })}
            >
              <option value="1d">in a day</option>
              <option value="30d">in 30 days</option>
              <option value="90d">in 90 days</option>
              <option value="365d">in a year</option>
              <option value="">never</option>
            </select>
          </label>
          <${Fault} text=${fault} />
          <div class="actions">
            <button type="button" onClick=${onClose}>Cancel</button>
            <button class="main" disabled=${isBusy}>Issue</button>
          </div>
        </form>
      <//>
    `;
  }
}
