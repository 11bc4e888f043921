// Shows the list of tokens, with dialogs to issue and revoke them.

import type { TokenSummary } from "../../auth/token-summary.ts";
import type { TokenCalls } from "../calls/token-calls.ts";
import { type Answer, get, post } from "./api.ts";
import { ActionDialog, Confirmation, Dialog, ErrorMessage } from "./dialogs.ts";
import { useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { html, relativeTime, textsOf, untrustedText } from "./markup.ts";
import { collection } from "./shown-contract.ts";
import { Choice, TextField } from "./text-field.ts";

/** The dialog that is open, with the name of its token. */
interface Opened {
  kind: "issue" | "revoke";
  name: string;
}

/** All others are active. */
const stateLabels: Record<string, string | undefined> = {
  rotated: "Replaced",
  expired: "Expired",
  revoked: "Revoked",
};

const expiries = [
  ["1d", "in 1 day"],
  ["30d", "in 30 days"],
  ["90d", "in 90 days"],
  ["365d", "in 365 days"],
  ["", "never"],
];

function hasEnded({ state }: TokenSummary) {
  return state === "expired" || state === "revoked";
}

export function Tokens({ tick }: { tick: number }) {
  const { data: tokens, error, reload } = useLoaded(() => get<TokenSummary[]>("tokens"), [tick]);
  const [opened, open] = useState<Opened | null>(null);
  const [issued, setIssued] = useState<string | null>(null);
  const ended = tokens?.filter(hasEnded).toReversed() ?? [];
  const active = tokens?.filter((token) => !hasEnded(token)).toReversed() ?? [];
  const close = () => open(null);
  const show = (shown: string) => {
    close();
    setIssued(shown);
    void reload();
  };
  const rows = (listed: TokenSummary[]) => html`
    <ul class="rows">
      ${listed.map((token) => html`<${Row} key=${`${token.name} ${token.created}`} token=${token} onOpen=${open} />`)}
    </ul>
  `;
  return html`
    <section class="card tokens" aria-labelledby="tokens-title">
      <header>
        <h2 id="tokens-title">Tokens</h2>
        <button type="button" onClick=${() => open({ kind: "issue", name: "" })}>Issue a token</button>
      </header>
      <${ErrorMessage} text=${error} />
      ${tokens !== null && active.length === 0 && html`<p class="empty">No token is active. Issue one for each client that creates ${collection.many}.</p>`}
      ${rows(active)}
      ${
        ended.length > 0 &&
        html`
          <details>
            <summary>${ended.length} expired or revoked</summary>
            ${rows(ended)}
          </details>
        `
      }
      ${opened?.kind === "issue" && html`<${IssueToken} onIssued=${show} onClose=${close} />`}
      ${
        opened?.kind === "revoke" &&
        html`
          <${Confirmation}
            title="Revoke this token?"
            action="Revoke"
            onConfirm=${() => post("tokens/revoke", { name: opened.name }).then(reload)}
            onClose=${close}
          >
            <p>
              All tokens named ${untrustedText(opened.name)} stop working within 2 seconds on every running server. This cannot be undone.
            </p>
          <//>
        `
      }
      ${issued !== null && html`<${ShownToken} token=${issued} onClose=${() => setIssued(null)} />`}
    </section>
  `;
}

function Row({ token, onOpen }: { token: TokenSummary; onOpen: (opened: Opened) => void }) {
  const { name, state } = token;
  return html`
    <li>
      <span class="name grow">${untrustedText(name)}</span>
      ${
        !hasEnded(token) &&
        html`<button type="button" class="quiet" aria-label=${`Revoke ${name}`} onClick=${() => onOpen({ kind: "revoke", name })}>Revoke</button>`
      }
      <small>
        <span class=${`state ${state in stateLabels ? state : "active"}`}>${stateLabels[state] ?? "Active"}</span>
        ${tokenFacts(token).map((fact) => html` · ${fact}`)}
      </small>
    </li>
  `;
}

function tokenFacts({ state, scopes, revoked, expires, lastUsed }: TokenSummary) {
  const use = lastUsed === null ? "no use recorded" : html`used ${relativeTime(lastUsed)}`;
  const facts = scopes === null ? [use] : [html`only ${untrustedText(scopes)}`, use];
  if (state === "revoked" && revoked !== null) return [html`revoked ${relativeTime(revoked)}`, ...facts];
  if (expires === null) return [...facts, "no expiry"];
  return [
    ...facts,
    html`${state === "expired" ? "expired" : state === "rotated" ? "ends" : "expires"} ${relativeTime(expires)}`,
  ];
}

function IssueToken({ onIssued, onClose }: { onIssued: (token: string) => void; onClose: () => void }) {
  const issue = async (form: HTMLFormElement) => {
    const { token }: Answer<TokenCalls["issue"]> = await post("tokens", textsOf(form));
    onIssued(token);
  };
  return html`
    <${ActionDialog} title="Issue a token" action="Issue" onAction=${issue} onClose=${onClose}>
      <${TextField}
        label="Name"
        name="name"
        required
        autofocus
        hint="The client that uses it, such as ci. The log and this list show it."
      />
      <${Choice} label="Expires" name="expires" initial="90d" options=${expiries} />
    <//>
  `;
}

function ShownToken({ token, onClose }: { token: string; onClose: () => void }) {
  const [error, setError] = useState("");
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(token);
      setCopied(true);
    } catch {
      // Without TLS, browsers allow the clipboard on localhost only.
      setError("The browser does not allow copying here; select the token and copy it.");
    }
  };
  return html`
    <${Dialog} title="Token issued" onClose=${onClose}>
      <p>It is shown only once. Copy it now, and store it as a secret.</p>
      <output class="token" aria-label="Token">${token}</output>
      <${ErrorMessage} text=${error} />
      <div class="actions">
        <span role="status">${isCopied ? "Copied." : ""}</span>
        <button type="button" onClick=${copy}>Copy</button>
        <button type="button" class="main" onClick=${onClose}>Done</button>
      </div>
    <//>
  `;
}
