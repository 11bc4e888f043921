// Shows the newest requests that a sandbox has recorded, each with its response.

import type { RecordedMessage, RecordedRequest } from "../../../packages/sandbox/src/control-types.ts";
import { control } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { exactTime, formatBytes } from "./formats.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { LogTable } from "./log-table.ts";
import { html, untrustedText } from "./markup.ts";

/** The numbers of the oldest request that the sandbox has, and of the newest one. */
export interface LogNumbers {
  first: number;
  next: number;
}

/** Requests that are shown: as many as the sandbox returns at once. */
const shownMax = 100;

/** Characters of a message that are shown. */
const shownLengthMax = 16_384;

/** Characters of a body in the list. */
const excerptLength = 200;

const endings: Record<string, string> = {
  clientAborted: "aborted by the client",
  dropped: "connection dropped",
  truncated: "cut off",
  notHttp: "not HTTP",
};

export function SandboxRequests({ first, next, onReload }: LogNumbers & { onReload: () => Promise<void> }) {
  const after = Math.max(first - 1, next - shownMax);
  const loaded = useLoaded(
    () => control<{ requests: RecordedRequest[] }>("GET", `/requests?after=${after}`),
    [first, next],
  );
  const { error, call } = useCall();
  const shown = loaded.data?.requests.toReversed() ?? [];
  return html`
    <section class="card requests" aria-labelledby="requests-title">
      <header>
        <h2 id="requests-title">Recorded requests</h2>
        <button type="button" disabled=${shown.length === 0} onClick=${() => call(() => control("DELETE", "/requests").then(onReload))}>Empty the log</button>
      </header>
      <${ErrorMessage} text=${error === "" ? loaded.error : error} />
      ${shown.length === 0 ? html`<p class="empty">No request yet. Each appears here with its response.</p>` : html`<${LogTable} columns=${["Number", "Status", "Request", "Outcome"]} rows=${shown.map((record) => toRow(record))} />`}
      ${after >= first && html`<p class="note">GET /sandbox/requests has those before number ${after + 1}.</p>`}
    </section>
  `;
}

function toRow(record: RecordedRequest) {
  const { number, startedAt, durationMs, request, response, error } = record;
  return {
    key: String(number),
    at: startedAt,
    label: String(number),
    spokenLabel: `Request ${number}`,
    isFailed: response === null || (response.status ?? 0) >= 400,
    code: error ?? response?.status ?? "none",
    main: requestText(record),
    title: request.body?.slice(0, shownLengthMax) ?? "",
    other: outcomeText(record),
    ms: durationMs,
    details: () => html`<${Details} ...${record} />`,
  };
}

function Details({ connection, startedAt, request, response }: RecordedRequest) {
  const { method, target, version } = request;
  return html`
    <p class="note">${exactTime(startedAt)}, connection ${connection}</p>
    ${message("Request", [method, target, version], request)}
    ${response === null ? html`<h3>Response</h3><p class="note">None was sent.</p>` : message("Response", [response.status], response)}
  `;
}

/** @param start the parts of the first line, which are null for what is not HTTP. */
function message(
  title: string,
  start: readonly (string | number | null)[],
  { headers, body, bodyBase64, bytes, isTruncated }: RecordedMessage,
) {
  const lines = [start.join(" "), ...headers.map(([name, value]) => `${name}: ${value}`)];
  const head = start[0] === null ? "" : `${lines.join("\n")}\n\n`;
  const text = head + (body ?? `Base64: ${bodyBase64}`);
  const isWhole = text.length <= shownLengthMax && !isTruncated;
  return html`
    <h3>${title}, with a body of ${formatBytes(bytes)}</h3>
    <pre class="full-text bytes" tabindex="0"><bdi>${text.slice(0, shownLengthMax)}</bdi></pre>
    ${!isWhole && html`<p class="note">The rest is not shown.</p>`}
  `;
}

function requestText({ request, ended }: RecordedRequest) {
  if (request.method === null) return html`<span class="faint">${endings[ended] ?? "incomplete"}</span>`;
  const body = request.body ?? "";
  return html`
    ${request.method} ${untrustedText(request.target ?? "")}
    ${body !== "" && html` <span class="faint">${untrustedText(body.slice(0, excerptLength))}</span>`}
  `;
}

function outcomeText({ forced, ended }: RecordedRequest) {
  const parts = [
    ...(forced === null ? [] : ["rule" in forced ? `rule ${forced.rule}` : `Prefer: ${forced.prefer}`]),
    ...(ended === "complete" ? [] : [endings[ended] ?? ended]),
  ];
  return parts.length === 0 ? html`<span class="faint">–</span>` : untrustedText(parts.join(", "));
}
