// The requests that a sandbox has recorded: live, each with its exact bytes and those of its
// response.

import { control, controlBytes, controlUrl, errorMessage } from "./api.js";
import { ErrorMessage } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { Component } from "./library/preact.js";
import { exactTime, formatBytes, formatCount, formatMs } from "./units.js";

/**
 * @typedef {{ headers: [name: string, value: string][], body: string | null, bytes: number }} Message
 * @typedef {{ number: number, connection: number, startedAt: string, durationMs: number,
 *   request: Message & { method: string | null, target: string | null },
 *   response: (Message & { status: number | null }) | null,
 *   error: number | null, forced: { rule: string } | { prefer: string } | null, ended: string }} RecordedRequest
 * @typedef {{ request: Uint8Array | null, response: Uint8Array | null }} Bytes
 * @typedef {{ records: RecordedRequest[], first: number, isLive: boolean, isPaused: boolean, openNumber: number | null,
 *   bytes: Bytes | null, isHex: boolean, error: string }} State
 */

const pageMax = 50;

/** Until the log is asked for again after an error. */
const retryMs = 2_000;

/** Requests in the page; older ones are loaded again. */
const shownMax = 500;

/** Bytes of a message that are shown; the download has all. */
const shownBytesMax = 16_384;

/** Characters of a body in the list. */
const excerptLength = 200;

/** @type {Record<string, string>} */
const endings = {
  clientAborted: "aborted by the client",
  dropped: "connection dropped",
  truncated: "cut off",
  notHttp: "not HTTP",
};

/**
 * `changes` counts what the page has changed in the sandbox, such as a reset, after which older
 * requests may be gone.
 */
/** @extends {Component<{ changes: number }, State>} */
export class SandboxRequests extends Component {
  /** @override @type {State} */
  state = {
    /** Newest first. */
    records: [],
    /** The number of the oldest request that the sandbox has. */
    first: 1,
    isLive: false,
    isPaused: false,
    openNumber: null,
    bytes: null,
    isHex: false,
    error: "",
  };
  /** @type {EventSource | undefined} */
  stream = undefined;
  isClosed = false;
  /** Requests that came while the list is paused, newest first. @type {RecordedRequest[]} */
  waiting = [];

  /** @override */
  componentDidMount() {
    void this.load();
  }

  /** @override */
  componentWillUnmount() {
    this.isClosed = true;
    this.stream?.close();
  }

  /**
   * @override
   * @param {{ changes: number }} previous
   */
  componentDidUpdate(previous) {
    if (previous.changes !== this.props.changes) void this.refresh();
  }

  /** Shows the newest requests, and follows those that come. */
  async load() {
    try {
      const { requests } = await control("GET", "");
      const after = Math.max(0, requests.next - pageMax);
      const page = await control("GET", `/requests?after=${after}&limit=${pageMax}`);
      if (this.isClosed) return;
      this.setState({ records: page.requests.toReversed(), first: requests.first, error: "" });
      this.follow(Math.max(page.next, requests.next));
    } catch (error) {
      // The sandbox may be starting again.
      this.setState({ error: errorMessage(error) });
      if (!this.isClosed) setTimeout(() => void this.load(), retryMs);
    }
  }

  /** @param {number} after */
  follow(after) {
    const stream = new EventSource(controlUrl(`/requests/stream?after=${after}`));
    this.stream = stream;
    stream.addEventListener("open", () => this.setState({ isLive: true }));
    // The browser connects again by itself, and continues after the last event that it got.
    stream.addEventListener("error", () => this.setState({ isLive: false }));
    stream.addEventListener("request", (event) => {
      this.waiting = [JSON.parse(/** @type {MessageEvent} */ (event).data), ...this.waiting].slice(
        0,
        shownMax,
      );
      if (!this.state.isPaused) this.showWaiting();
    });
  }

  showWaiting() {
    const { waiting } = this;
    this.waiting = [];
    this.setState(({ records }) => ({
      isLive: true,
      records: [...waiting, ...records].slice(0, shownMax),
    }));
  }

  /** Leaves out what the sandbox no longer has. */
  async refresh() {
    try {
      const { requests } = await control("GET", "");
      const { first } = requests;
      const isThere = (/** @type {RecordedRequest} */ { number }) => number >= first;
      this.waiting = this.waiting.filter(isThere);
      this.setState(({ records }) => ({ records: records.filter(isThere), first, error: "" }));
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  async loadEarlier() {
    const { records } = this.state;
    const oldest = records.at(-1)?.number ?? 1;
    const after = Math.max(0, oldest - 1 - pageMax);
    try {
      const page = await control("GET", `/requests?after=${after}&limit=${pageMax}`);
      /** @type {RecordedRequest[]} */
      const earlier = page.requests.filter((/** @type {RecordedRequest} */ { number }) => number < oldest);
      this.setState({
        records: [...records, ...earlier.toReversed()],
        ...(earlier.length === 0 && { first: oldest }),
      });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** The stream goes on: what comes while the list is paused is shown when it continues. */
  togglePause() {
    const isPaused = !this.state.isPaused;
    this.setState({ isPaused });
    if (!isPaused) this.showWaiting();
  }

  async clear() {
    try {
      await control("DELETE", "/requests");
      await this.refresh();
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** @param {RecordedRequest} record */
  async open({ number, response }) {
    if (this.state.openNumber === number) {
      this.setState({ openNumber: null, bytes: null });
      return;
    }
    this.setState({ openNumber: number, bytes: null, error: "" });
    try {
      const [request, answer] = await Promise.all([
        controlBytes(`/requests/${number}/request`),
        response === null ? null : controlBytes(`/requests/${number}/response`),
      ]);
      if (this.state.openNumber === number) this.setState({ bytes: { request, response: answer } });
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { records, first, isLive, isPaused, error } = this.state;
    const oldest = records.at(-1)?.number;
    return html`
      <section class="card requests" aria-labelledby="requests-title">
        <header>
          <h2 id="requests-title">Recorded requests</h2>
          <span class=${`connection ${isLive ? "up" : "down"}`} role="status"><i aria-hidden="true"></i>${isPaused ? "Paused" : isLive ? "Live" : "Connecting…"}</span>
          <button type="button" aria-pressed=${isPaused} onClick=${() => this.togglePause()}>${isPaused ? "Continue" : "Pause"}</button>
          <button type="button" disabled=${records.length === 0} onClick=${() => this.clear()}>Empty the log</button>
        </header>
        <${ErrorMessage} text=${error} />
        ${records.length === 0 ? html`<p class="empty">No request yet. Each appears here with its response, byte for byte.</p>` : this.table(records)}
        ${oldest !== undefined && oldest > first && html`<button type="button" class="link" onClick=${() => this.loadEarlier()}>Show earlier requests, before number ${oldest}</button>`}
      </section>
    `;
  }

  /** @param {RecordedRequest[]} records */
  table(records) {
    const { openNumber } = this.state;
    return html`
      <table class="list log">
        <thead>
          <tr>
            <th scope="col">Number</th>
            <th scope="col">Status</th>
            <th scope="col">Request</th>
            <th scope="col">Outcome</th>
            <th scope="col" class="number">Duration</th>
          </tr>
        </thead>
        <tbody>
          ${records.map((record) => {
            const { number, startedAt, durationMs, request, response } = record;
            const isOpen = number === openNumber;
            const isFailed = response === null || (response.status ?? 0) >= 400;
            return html`
              <tr key=${number}>
                <td>
                  <button type="button" class="link" aria-expanded=${isOpen} aria-label=${`Request ${number}`} title=${exactTime(startedAt)} onClick=${() => this.open(record)}>${number}</button>
                </td>
                <td><span class=${`chip ${isFailed ? "failed" : ""}`}>${record.error ?? response?.status ?? "none"}</span></td>
                <td class="text main"><span title=${request.body?.slice(0, shownBytesMax) ?? ""}>${requestText(record)}</span></td>
                <td class="text">${outcomeText(record)}</td>
                <td class="number">${formatMs(durationMs)}</td>
              </tr>
              ${isOpen && html`<tr key=${`${number} details`} class="details"><td colspan="5">${this.details(record)}</td></tr>`}
            `;
          })}
        </tbody>
      </table>
    `;
  }

  /** @param {RecordedRequest} record */
  details({ number, connection, startedAt, request, response }) {
    const { bytes, isHex } = this.state;
    const messages = /** @type {const} */ ([
      ["request", "Request", request.bytes],
      ["response", "Response", response?.bytes ?? 0],
    ]);
    return html`
      <p class="note">${exactTime(startedAt)}, connection ${connection}${" "}
        <button type="button" class="quiet" aria-pressed=${isHex} onClick=${() => this.setState({ isHex: !isHex })}>${isHex ? "Show text" : "Show bytes"}</button>
      </p>
      ${messages.map(
        ([kind, title, length]) => html`
          <h4>
            ${title}, ${formatBytes(length)}
            ${length > 0 && html`${" "}<a download=${`request-${number}-${kind}.bin`} href=${controlUrl(`/requests/${number}/${kind}`)}>Download</a>`}
          </h4>
          ${messageText(bytes === null ? undefined : bytes[kind], isHex)}
        `,
      )}
    `;
  }
}

/**
 * @param {Uint8Array | null | undefined} bytes null if there are none, undefined while they are loaded.
 * @param {boolean} isHex
 */
function messageText(bytes, isHex) {
  if (bytes === undefined) return html`<p class="note" role="status">Loading…</p>`;
  if (bytes === null) return html`<p class="note">Nothing was sent.</p>`;
  const shown = bytes.subarray(0, shownBytesMax);
  const text = isHex ? hexDump(shown) : new TextDecoder().decode(shown);
  return html`
    <pre class="full-text bytes" tabindex="0"><bdi>${text}</bdi></pre>
    ${bytes.length > shown.length && html`<p class="note">The first ${formatCount(shown.length, "byte")}; the download has all.</p>`}
  `;
}

/** Sixteen bytes a line, with their offset and as ASCII. @param {Uint8Array} bytes */
function hexDump(bytes) {
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

/** @param {RecordedRequest} record */
function requestText({ request, ended }) {
  if (request.method === null) return html`<span class="faint">${endings[ended] ?? "incomplete"}</span>`;
  const body = request.body ?? "";
  return html`
    ${request.method} ${untrustedText(request.target ?? "")}
    ${body !== "" && html` <span class="faint">${untrustedText(body.slice(0, excerptLength))}</span>`}
  `;
}

/** @param {RecordedRequest} record */
function outcomeText({ forced, ended }) {
  const parts = [
    ...(forced === null ? [] : ["rule" in forced ? `rule ${forced.rule}` : `Prefer: ${forced.prefer}`]),
    ...(ended === "complete" ? [] : [endings[ended] ?? ended]),
  ];
  return parts.length === 0 ? html`<span class="faint">–</span>` : untrustedText(parts.join(", "));
}
