// Shows the recent requests in a table that is reloaded, with a filter by code.

import type { RecentRequests } from "../reads/recent-requests.ts";
import { type Answer, get } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { exactTime, formatInteger, formatTime } from "./formats.ts";
import { useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { LogTable } from "./log-table.ts";
import { html, onValue, untrustedText } from "./markup.ts";

type RecentRequest = RequestList["requests"][number];

type RequestList = Answer<RecentRequests["list"]>;

const firstCount = 20;
const countMax = 2_000;

/** Labels of results that are not errors. */
const codeLabels: Record<string, string | undefined> = {
  created: "created",
  unchanged: "duplicate",
  clientAborted: "aborted by the client",
};

function isError(code: string) {
  return !(code in codeLabels);
}

export function Requests({ tick }: { tick: number }) {
  const [{ code, count }, show] = useState({ code: "", count: firstCount });
  const { data: list, error } = useLoaded(
    () => get<RequestList>("requests", { count: String(count), code }),
    [tick, code, count],
  );
  const codes = Object.entries(list?.counts ?? {}).sort(([one], [other]) => one.localeCompare(other));
  const total = codes.reduce((sum, [, number]) => sum + number, 0);
  const errors = codes.reduce((sum, [each, number]) => sum + (isError(each) ? number : 0), 0);
  const matching = code === "" ? total : code === "errors" ? errors : (list?.counts[code] ?? 0);
  return html`
    <section class="card requests" aria-labelledby="requests-title">
      <header>
        <h2 id="requests-title">Recent requests</h2>
        <select
          aria-label="Filter by code"
          value=${code}
          onChange=${onValue((chosen) => show({ code: chosen, count: firstCount }))}
        >
          <option value="">All codes (${formatInteger(total)})</option>
          <option value="errors">All errors (${formatInteger(errors)})</option>
          ${codes.map(([each, number]) => html`<option value=${each}>${codeLabels[each] ?? each} (${formatInteger(number)})</option>`)}
          ${code !== "" && code !== "errors" && !(code in (list?.counts ?? {})) && html`<option value=${code}>${codeLabels[code] ?? code} (0)</option>`}
        </select>
      </header>
      <${ErrorMessage} text=${error} />
      ${list !== null && list.requests.length === 0 && html`<p class="empty">${code === "" ? "No request yet. The newest 1,000 of this server, and the newest 1,000 errors, appear here as clients send them." : "No such request is kept."}</p>`}
      ${list !== null && list.requests.length > 0 && html`<${LogTable} columns=${["Time", "Code", "Message", "Token"]} rows=${list.requests.map(toRow)} />`}
      ${
        matching > count &&
        html`<button type="button" class="link" onClick=${() => show({ code, count: countMax })}>Show all ${formatInteger(matching)}</button>`
      }
    </section>
  `;
}

function toRow(request: RecentRequest) {
  const { requestId, at, code, status, message, token, ms } = request;
  return {
    key: `${requestId} ${at}`,
    at,
    label: formatTime(at),
    isFailed: isError(code),
    code: isError(code) ? code : status,
    main: messageText(request),
    title: message ?? "",
    other: html`<span title=${token ?? ""}>${token === null ? html`<span class="faint">–</span>` : untrustedText(token)}</span>`,
    ms,
    details: () => details(request),
  };
}

function messageText({ code, message, method, path }: RecentRequest) {
  if (message !== null) return untrustedText(message);
  const label = codeLabels[code] ?? "";
  return code === "clientAborted"
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
