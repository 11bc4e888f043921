// The requests that a sandbox has recorded: live, each with its exact bytes and those of its
// response.

import { control, controlBytes, controlUrl, errorMessage } from "./api.ts";
import { CallingComponent } from "./calling-component.ts";
import { ErrorMessage } from "./dialogs.ts";
import { html, untrustedText } from "./format.ts";
import { exactTime, formatBytes, formatCount, formatMs } from "./units.ts";

interface Message {
  headers: [name: string, value: string][];
  body: string | null;
  bytes: number;
}

interface RecordedRequest {
  number: number;
  connection: number;
  startedAt: string;
  durationMs: number;
  request: Message & { method: string | null; target: string | null };
  response: (Message & { status: number | null }) | null;
  error: number | null;
  forced: { rule: string } | { prefer: string } | null;
  ended: string;
}

interface RequestPage {
  requests: RecordedRequest[];
  next: number;
}

interface Bytes {
  request: Uint8Array | null;
  response: Uint8Array | null;
}

interface State {
  records: RecordedRequest[];
  first: number;
  isLive: boolean;
  isPaused: boolean;
  openNumber: number | null;
  bytes: Bytes | null;
  isHex: boolean;
  error: string;
  isBusy: boolean;
}

const pageMax = 50;

/** Until the log is asked for again after an error. */
const retryMs = 2_000;

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

/**
 * `changes` counts what the page has changed in the sandbox, such as a reset, after which older
 * requests may be gone.
 */
export class SandboxRequests extends CallingComponent<{ changes: number }, State> {
  override state: State = {
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
    isBusy: false,
  };
  stream: EventSource | undefined = undefined;
  isClosed = false;
  /** Requests that came while the list is paused, newest first. */
  waiting: RecordedRequest[] = [];

  override componentDidMount() {
    void this.load();
  }

  override componentWillUnmount() {
    this.isClosed = true;
    this.stream?.close();
  }

  override componentDidUpdate(previous: { changes: number }) {
    if (previous.changes !== this.props.changes) void this.call(() => this.refresh());
  }

  /** Shows the newest requests, and follows those that come. */
  async load() {
    try {
      const { requests } = await control<{ requests: { first: number; next: number } }>("GET", "");
      const after = Math.max(0, requests.next - pageMax);
      const page: RequestPage = await control("GET", `/requests?after=${after}&limit=${pageMax}`);
      if (this.isClosed) return;
      this.setState({ records: page.requests.toReversed(), first: requests.first, error: "" });
      this.follow(Math.max(page.next, requests.next));
    } catch (error) {
      // The sandbox may be starting again.
      this.setState({ error: errorMessage(error) });
      if (!this.isClosed) setTimeout(() => void this.load(), retryMs);
    }
  }

  follow(after: number) {
    const stream = new EventSource(controlUrl(`/requests/stream?after=${after}`));
    this.stream = stream;
    stream.addEventListener("open", () => this.setState({ isLive: true }));
    // The browser connects again by itself, and continues after the last event that it got.
    stream.addEventListener("error", () => this.setState({ isLive: false }));
    stream.addEventListener("request", (event) => {
      this.waiting = [JSON.parse((event as MessageEvent).data), ...this.waiting].slice(0, shownMax);
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
    const { requests } = await control<{ requests: { first: number; next: number } }>("GET", "");
    const { first } = requests;
    const isThere = ({ number }: RecordedRequest) => number >= first;
    this.waiting = this.waiting.filter(isThere);
    this.setState(({ records }) => ({ records: records.filter(isThere), first }));
  }

  async loadEarlier() {
    const { records } = this.state;
    const oldest = records.at(-1)?.number ?? 1;
    const after = Math.max(0, oldest - 1 - pageMax);
    await this.call(async () => {
      const page: RequestPage = await control("GET", `/requests?after=${after}&limit=${pageMax}`);
      const earlier = page.requests.filter(({ number }) => number < oldest);
      this.setState({
        records: [...records, ...earlier.toReversed()],
        ...(earlier.length === 0 && { first: oldest }),
      });
    });
  }

  /** The stream goes on: what comes while the list is paused is shown when it continues. */
  togglePause() {
    const isPaused = !this.state.isPaused;
    this.setState({ isPaused });
    if (!isPaused) this.showWaiting();
  }

  async clear() {
    await this.call(async () => {
      await control("DELETE", "/requests");
      await this.refresh();
    });
  }

  async open({ number, response }: RecordedRequest) {
    if (this.state.openNumber === number) {
      this.setState({ openNumber: null, bytes: null });
      return;
    }
    this.setState({ openNumber: number, bytes: null });
    await this.call(async () => {
      const [request, answer] = await Promise.all([
        controlBytes(`/requests/${number}/request`),
        response === null ? null : controlBytes(`/requests/${number}/response`),
      ]);
      if (this.state.openNumber === number) this.setState({ bytes: { request, response: answer } });
    });
  }

  override render() {
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

  table(records: RecordedRequest[]) {
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

  details({ number, connection, startedAt, request, response }: RecordedRequest) {
    const { bytes, isHex } = this.state;
    const messages = [
      ["request", "Request", request.bytes],
      ["response", "Response", response?.bytes ?? 0],
    ] as const;
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
