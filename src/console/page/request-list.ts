// Shows the recent requests, or errors, in a table that is reloaded.

import type { RecentRequests } from "../reads/recent-requests.ts";
import { type Answer, get } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { exactTime, formatInteger, formatTime } from "./formats.ts";
import { useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { LogTable } from "./log-table.ts";
import { html, untrustedText } from "./markup.ts";

type RequestList = Answer<RecentRequests["list"]>;
type RecentRequest = RequestList["requests"][number];

const firstCount = 20;
const countMax = 1_000;

/** Labels of results that are not errors. */
const resultLabels: Record<string, string | undefined> = {
  created: "created",
  unchanged: "duplicate",
  clientAborted: "aborted by the client",
};

export function Requests({ tick }: { tick: number }) {
  const [{ isErrors, count }, show] = useState({ isErrors: false, count: firstCount });
  const { data: list, error } = useLoaded(
    () => get<RequestList>("requests", { count: String(count), ...(isErrors && { errors: "" }) }),
    [tick, isErrors, count],
  );
  const { requests = [], total = 0 } = list ?? {};
  const toggle = () => show({ isErrors: !isErrors, count: firstCount });
  return html`
    <section class="card requests" aria-labelledby="requests-title">
      <header>
        <h2 id="requests-title">Recent requests</h2>
        <label class="check"><input type="checkbox" checked=${isErrors} onChange=${toggle} /> Errors only</label>
      </header>
      <${ErrorMessage} text=${error} />
      ${list !== null && total === 0 && html`<p class="empty">${isErrors ? "No error is kept." : "No request yet. The newest 1,000 of this server, and the newest 1,000 errors, appear here as clients send them."}</p>`}
      ${total > 0 && html`<${LogTable} columns=${["Time", "Code", "Message", "Token"]} rows=${requests.map(toRow)} />`}
      ${
        total > count &&
        html`<button type="button" class="link" onClick=${() => show({ isErrors, count: countMax })}>Show all ${formatInteger(total)}</button>`
      }
    </section>
  `;
}

function toRow(request: RecentRequest) {
  const { requestId, at, error, status, message, token, ms } = request;
  return {
    key: `${requestId} ${at}`,
    at,
    label: formatTime(at),
    isFailed: error !== null,
    code: error ?? status,
    main: messageText(request),
    title: message ?? "",
    other: html`<span title=${token ?? ""}>${token === null ? html`<span class="faint">–</span>` : untrustedText(token)}</span>`,
    ms,
    details: () => details(request),
  };
}

function messageText({ result, message, method, path }: RecentRequest) {
  if (message !== null) return untrustedText(message);
  const label = resultLabels[result] ?? result;
  return result === "clientAborted"
    ? html`${label} <span class="faint">${method} ${untrustedText(path)}</span>`
    : label;
}

function details({ requestId, at, method, path, message }: RecentRequest) {
  return html`
    <dl class="facts">
      <dt>Time</dt>
      <dd>${exactTime(at)}</dd>
      <dt>Request</dt>
      <dd>${method} ${untrustedText(path)}</dd>
      <dt>Id</dt>
      <dd><code>${requestId}</code></dd>
      ${message !== null && html`<dt>Message</dt><dd>${untrustedText(message)}</dd>`}
    </dl>
  `;
}
