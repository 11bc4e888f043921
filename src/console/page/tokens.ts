// The list of tokens, with dialogs to issue, rotate and revoke them.

import type { TokenSummary } from "../../core/auth/token-summary.ts";
import type { Tokens as TokenCalls } from "../tokens.ts";
import { type Answer, get, post } from "./api.ts";
import { ActionDialog, Confirmation, Dialog, ErrorMessage } from "./dialogs.ts";
import { html, untrustedText } from "./format.ts";
import { Component, type ComponentChildren } from "./library.js";
import { ReloadingSection } from "./reloading-section.ts";
import { Choice, TextField } from "./text-field.ts";
import { relativeTime } from "./units.ts";

interface Change {
  kind: "issue" | "rotate" | "revoke";
  name: string;
}

interface State {
  tokens: TokenSummary[] | null;
  error: string;
  change: Change | null;
  showsEnded: boolean;
}

/** All others are active. */
const stateLabels: Record<string, string | undefined> = {
  rotated: "Replaced",
  expired: "Expired",
  revoked: "Revoked",
};

function hasEnded({ state }: TokenSummary) {
  return state === "expired" || state === "revoked";
}

export class Tokens extends ReloadingSection<{ tick: number; onIssued: (token: string) => void }, State> {
  override state: State = { tokens: null, error: "", change: null, showsEnded: false };

  override async fetchData() {
    const tokens: TokenSummary[] = await get("tokens");
    return { tokens };
  }

  async revoke(name: string) {
    await post("tokens/revoke", { name });
    await this.load();
  }

  override render() {
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

  row(token: TokenSummary) {
    const { name, state } = token;
    const change = (kind: Change["kind"]) => () => this.setState({ change: { kind, name } });
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
    const onIssued = (token: string) => {
      this.props.onIssued(token);
      void this.load();
    };
    const Form = kind === "issue" ? IssueToken : RotateToken;
    return html`<${Form} name=${name} onIssued=${onIssued} onClose=${onClose} />`;
  }
}

function tokenFacts({ state, revoked, expires, lastUsed }: TokenSummary) {
  const use = lastUsed === null ? "no use recorded" : html`used ${relativeTime(lastUsed)}`;
  if (state === "revoked" && revoked !== null) return [html`revoked ${relativeTime(revoked)}`, use];
  if (expires === null) return [use, "no expiry"];
  return [
    use,
    html`${state === "expired" ? "expired" : state === "rotated" ? "ends" : "expires"} ${relativeTime(expires)}`,
  ];
}

interface TokenFormProperties {
  name: string;
  onIssued: (token: string) => void;
  onClose: () => void;
}

class IssueToken extends Component<TokenFormProperties, { name: string; expires: string; token: string }> {
  override state = { name: "", expires: "90d", token: "" };

  async submit() {
    const { name, expires } = this.state;
    const { token }: Answer<TokenCalls["issue"]> = await post("tokens", { name, expires });
    this.setState({ token });
    this.props.onIssued(token);
  }

  override render() {
    const { name, expires, token } = this.state;
    const { onClose } = this.props;
    if (token !== "") return html`<${ShownToken} title="Token issued" token=${token} onClose=${onClose} />`;
    return html`
      <${ActionDialog}
        title="Issue a token"
        action="Issue"
        onAction=${() => this.submit()}
        onClose=${onClose}
      >
        <${TextField}
          label="Name"
          name="name"
          required
          autofocus
          hint="The client that uses it, such as ci. The log and this list show it."
          value=${name}
          onText=${(text: string) => this.setState({ name: text })}
        />
        <${Choice}
          label="Expires"
          name="expires"
          value=${expires}
          options=${expiries}
          onText=${(value: string) => this.setState({ expires: value })}
        />
      <//>
    `;
  }
}

class RotateToken extends Component<
  TokenFormProperties,
  { overlap: string; expires: string; token: string; ends: string }
> {
  override state = { overlap: "7d", expires: "same", token: "", ends: "" };

  async submit() {
    const { overlap, expires } = this.state;
    const body = { name: this.props.name, overlap, expires };
    const { token, predecessorEnds }: Answer<TokenCalls["rotate"]> = await post("tokens/rotate", body);
    this.setState({ token, ends: predecessorEnds });
    this.props.onIssued(token);
  }

  override render() {
    const { overlap, expires, token, ends } = this.state;
    const { name, onClose } = this.props;
    if (token !== "")
      return html`
        <${ShownToken} title="Token rotated" token=${token} onClose=${onClose}>
          <p>The previous token of ${untrustedText(name)} ${Date.parse(ends) > Date.now() ? html`works for the overlap: it ends ${relativeTime(ends)}` : "has ended"}.</p>
        <//>
      `;
    return html`
      <${ActionDialog}
        title=${html`Rotate ${untrustedText(name)}`}
        action="Rotate"
        onAction=${() => this.submit()}
        onClose=${onClose}
      >
        <p>A new token of the same name is issued. Give it to the client before the previous one ends.</p>
        <${Choice}
          label="The previous token ends"
          name="overlap"
          autofocus
          value=${overlap}
          options=${overlaps}
          onText=${(value: string) => this.setState({ overlap: value })}
        />
        <${Choice}
          label="The new token expires"
          name="expires"
          value=${expires}
          options=${[["same", "after the same time as the previous one"], ...expiries]}
          onText=${(value: string) => this.setState({ expires: value })}
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

/** The dialog that shows a token, the only time. */
class ShownToken extends Component<
  { title: string; token: string; onClose: () => void; children?: ComponentChildren },
  { error: string; isCopied: boolean }
> {
  override state = { error: "", isCopied: false };

  async copy() {
    try {
      await navigator.clipboard.writeText(this.props.token);
      this.setState({ isCopied: true });
    } catch {
      // Without TLS, browsers allow the clipboard on localhost only.
      this.setState({ error: "The browser does not allow copying here; select the token and copy it." });
    }
  }

  override render() {
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
