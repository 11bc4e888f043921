// The requests that a sandbox has recorded: live, each with its response.

import type { RecordedMessage, RecordedRequest } from "../../../packages/sandbox/src/control-types.ts";
import { control, errorMessage } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { exactTime, formatBytes, html, untrustedText } from "./format.ts";
import { useCall } from "./hooks.ts";
import { useEffect, useState } from "./library.js";
import { LogTable } from "./log-table.ts";

/** The numbers of the oldest request that the sandbox has, and of the next one. */
export interface LogNumbers {
  first: number;
  next: number;
}

const pageMax = 50;

/** Until the log is asked for again after an error. */
const retryMs = 2_000;

/** For how long the sandbox waits for the next request. */
const waitSecondsMax = 30;

/** Requests in the page; older ones are loaded again. */
const shownMax = 500;

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

/** Older requests may be gone with each change of `first`, such as by a reset. */
export function SandboxRequests({ first, next, onReload }: LogNumbers & { onReload: () => Promise<void> }) {
  /** Newest first. */
  const [records, setRecords] = useState<RecordedRequest[]>([]);
  const [isLive, setLive] = useState(false);
  const { error, setError, call } = useCall();

  /** Shows the requests after a number, and those that come. */
  const follow = async (start: number, signal: AbortSignal) => {
    let after = start;
    // The first call returns at once: it shows whether the sandbox can be reached.
    let waitSeconds = 0;
    while (!signal.aborted) {
      try {
        if (waitSeconds === 0) {
          const { requests } = await control<{ requests: LogNumbers }>("GET", "");
          // The numbers of a sandbox that was started again begin at 1 again.
          if (requests.next < after) {
            after = 0;
            setRecords([]);
          }
        }
        const page: { requests: RecordedRequest[]; next: number } = await control(
          "GET",
          `/requests?after=${after}&wait=${waitSeconds}`,
        );
        if (signal.aborted) return;
        after = page.next;
        if (waitSeconds === 0) setError("");
        waitSeconds = waitSecondsMax;
        setLive(true);
        setRecords((older) => [...page.requests.toReversed(), ...older].slice(0, shownMax));
      } catch (failure) {
        if (signal.aborted) return;
        // The sandbox may be starting again.
        setLive(false);
        setError(errorMessage(failure));
        waitSeconds = 0;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  };
  useEffect(() => {
    const shown = new AbortController();
    void follow(Math.max(0, next - pageMax), shown.signal);
    return () => shown.abort();
  }, []);

  const shown = records.filter(({ number }) => number >= first);
  const oldest = shown.at(-1)?.number ?? 1;
  const loadEarlier = async () => {
    const after = Math.max(0, oldest - 1 - pageMax);
    const page: { requests: RecordedRequest[] } = await control(
      "GET",
      `/requests?after=${after}&limit=${pageMax}`,
    );
    const earlier = page.requests.filter(({ number }) => number < oldest).toReversed();
    setRecords((newer) => [...newer, ...earlier]);
    if (earlier.length === 0) await onReload();
  };
  return html`
    <section class="card requests" aria-labelledby="requests-title">
      <header>
        <h2 id="requests-title">Recorded requests</h2>
        <span class=${`connection ${isLive ? "up" : "down"}`} role="status"><i aria-hidden="true"></i>${isLive ? "Live" : "Connecting…"}</span>
        <button type="button" disabled=${shown.length === 0} onClick=${() => call(() => control("DELETE", "/requests").then(onReload))}>Empty the log</button>
      </header>
      <${ErrorMessage} text=${error} />
      ${shown.length === 0 ? html`<p class="empty">No request yet. Each appears here with its response.</p>` : html`<${LogTable} columns=${["Number", "Status", "Request", "Outcome"]} rows=${shown.map((record) => toRow(record))} />`}
      ${oldest > first && html`<button type="button" class="link" onClick=${() => call(loadEarlier)}>Show earlier requests, before number ${oldest}</button>`}
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
