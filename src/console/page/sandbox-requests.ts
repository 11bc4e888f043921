// The requests that a sandbox has recorded: live, each with its exact bytes and those of its
// response.

import type { RecordedRequest } from "../../../packages/sandbox/src/control-types.ts";
import { control, controlBytes, controlUrl, errorMessage } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { exactTime, formatBytes, formatCount, html, untrustedText } from "./format.ts";
import { useCall, useLoaded } from "./hooks.ts";
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

/** Bytes of a message that are shown; the download has all. */
const shownBytesMax = 16_384;

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
  /** The records that a paused list shows; null while it is live. */
  const [frozen, setFrozen] = useState<RecordedRequest[] | null>(null);
  const [isLive, setLive] = useState(false);
  const [isHex, setHex] = useState(false);
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
            setFrozen(null);
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

  const shown = (frozen ?? records).filter(({ number }) => number >= first);
  const oldest = shown.at(-1)?.number ?? 1;
  const loadEarlier = async () => {
    const after = Math.max(0, oldest - 1 - pageMax);
    const page: { requests: RecordedRequest[] } = await control(
      "GET",
      `/requests?after=${after}&limit=${pageMax}`,
    );
    const earlier = page.requests.filter(({ number }) => number < oldest).toReversed();
    if (frozen === null) setRecords((newer) => [...newer, ...earlier]);
    else setFrozen([...frozen, ...earlier]);
    if (earlier.length === 0) await onReload();
  };
  return html`
    <section class="card requests" aria-labelledby="requests-title">
      <header>
        <h2 id="requests-title">Recorded requests</h2>
        <span class=${`connection ${isLive ? "up" : "down"}`} role="status"><i aria-hidden="true"></i>${frozen !== null ? "Paused" : isLive ? "Live" : "Connecting…"}</span>
        <button type="button" aria-pressed=${frozen !== null} onClick=${() => setFrozen(frozen === null ? records : null)}>${frozen === null ? "Pause" : "Continue"}</button>
        <button type="button" disabled=${shown.length === 0} onClick=${() => call(() => control("DELETE", "/requests").then(onReload))}>Empty the log</button>
      </header>
      <${ErrorMessage} text=${error} />
      ${shown.length === 0 ? html`<p class="empty">No request yet. Each appears here with its response, byte for byte.</p>` : html`<${LogTable} columns=${["Number", "Status", "Request", "Outcome"]} rows=${shown.map((record) => toRow(record, isHex, setHex))} />`}
      ${oldest > first && html`<button type="button" class="link" onClick=${() => call(loadEarlier)}>Show earlier requests, before number ${oldest}</button>`}
    </section>
  `;
}

function toRow(record: RecordedRequest, isHex: boolean, onHex: (isHex: boolean) => void) {
  const { number, startedAt, durationMs, request, response, error } = record;
  return {
    key: String(number),
    at: startedAt,
    label: String(number),
    spokenLabel: `Request ${number}`,
    isFailed: response === null || (response.status ?? 0) >= 400,
    code: error ?? response?.status ?? "none",
    main: requestText(record),
    title: request.body?.slice(0, shownBytesMax) ?? "",
    other: outcomeText(record),
    ms: durationMs,
    details: () => html`<${Details} ...${record} isHex=${isHex} onHex=${onHex} />`,
  };
}

function Details({
  number,
  connection,
  startedAt,
  request,
  response,
  isHex,
  onHex,
}: RecordedRequest & { isHex: boolean; onHex: (isHex: boolean) => void }) {
  const messages = [
    ["request", "Request", request],
    ["response", "Response", response],
  ] as const;
  const { data, error } = useLoaded(
    () =>
      Promise.all(
        messages.map(([kind, , message]) => message && controlBytes(`/requests/${number}/${kind}`)),
      ),
    [],
  );
  return html`
    <p class="note">${exactTime(startedAt)}, connection ${connection}${" "}
      <button type="button" class="quiet" aria-pressed=${isHex} onClick=${() => onHex(!isHex)}>${isHex ? "Show text" : "Show bytes"}</button>
    </p>
    <${ErrorMessage} text=${error} />
    ${messages.map(
      ([kind, title, message], at) => html`
        <h4>
          ${title}, ${formatBytes(message?.bytes ?? 0)}
          ${message !== null && message.bytes > 0 && html`${" "}<a download=${`request-${number}-${kind}.bin`} href=${controlUrl(`/requests/${number}/${kind}`)}>Download</a>`}
        </h4>
        ${messageText(data?.[at], isHex)}
      `,
    )}
  `;
}

/** @param bytes null if there are none, undefined while they are loaded. */
function messageText(bytes: Uint8Array | null | undefined, isHex: boolean) {
  if (bytes === undefined) return html`<p class="note" role="status">Loading…</p>`;
  if (bytes === null) return html`<p class="note">Nothing was sent.</p>`;
  const shown = bytes.subarray(0, shownBytesMax);
  const text = isHex ? hexDump(shown) : new TextDecoder().decode(shown);
  return html`
    <pre class="full-text bytes" tabindex="0"><bdi>${text}</bdi></pre>
    ${bytes.length > shown.length && html`<p class="note">The first ${formatCount(shown.length, "byte")}; the download has all.</p>`}
  `;
}

/** Sixteen bytes a line, with their offset and as ASCII. */
function hexDump(bytes: Uint8Array) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const some = [...bytes.subarray(at, at + 16)];
    const hex = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = some
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."))
      .join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${ascii}`);
  }
  return lines.join("\n");
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
