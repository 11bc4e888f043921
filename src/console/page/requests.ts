// The recent requests: a table that is reloaded, with filters by code and, from the chart of
// errors, by time.

import type { RecentRequests } from "../recent-requests.ts";
import { type Answer, get } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { html, onValue, untrustedText } from "./format.ts";
import { ReloadingSection } from "./reloading-section.ts";
import { exactTime, formatMs } from "./units.ts";

type RecentRequest = RequestList["requests"][number];

type RequestList = Answer<RecentRequests["list"]>;

/** In milliseconds since the epoch. */
export interface Span {
  from: number;
  end: number;
}

interface State {
  list: RequestList | null;
  error: string;
  code: string;
  count: number;
  openId: string | null;
}

const firstCount = 20;
const countMax = 1_000;

/** Labels of results that are not errors. */
const codeLabels: Record<string, string | undefined> = {
  created: "created",
  unchanged: "duplicate",
  clientAborted: "aborted by the client",
};

function isError(code: string) {
  return !(code in codeLabels);
}

export class Requests extends ReloadingSection<
  { tick: number; span: Span | null; onAll: () => void },
  State
> {
  override componentDidUpdate(previous: { tick: number; span: Span | null; onAll: () => void }) {
    super.componentDidUpdate(previous);
    const { span } = this.props;
    if (previous.span === span) return;
    void this.show({ code: span === null ? "" : "errors", count: span === null ? firstCount : countMax });
    if (span !== null) (this.base as Element).scrollIntoView({ block: "nearest" });
  }

  override state: State = { list: null, error: "", code: "", count: firstCount, openId: null };

  override async fetchData() {
    const { code, count } = this.state;
    const { span } = this.props;
    const parameters = new URLSearchParams({ count: String(count), code });
    for (const [name, time] of Object.entries(span ?? {})) parameters.set(name, String(time));
    const list: RequestList = await get(`requests?${parameters}`);
    return { list };
  }

  async show(change: Partial<State>) {
    this.setState(change, () => void this.load());
  }

  override render() {
    const { list, error, code, count } = this.state;
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
            onChange=${onValue((chosen) => this.show({ code: chosen, count: firstCount }))}
          >
            <option value="">All codes (${total.toLocaleString("en-US")})</option>
            <option value="errors">All errors (${errors.toLocaleString("en-US")})</option>
            ${codes.map(([each, number]) => html`<option value=${each}>${codeLabels[each] ?? each} (${number.toLocaleString("en-US")})</option>`)}
            ${code !== "" && code !== "errors" && !(code in (list?.counts ?? {})) && html`<option value=${code}>${codeLabels[code] ?? code} (0)</option>`}
          </select>
        </header>
        <${ErrorMessage} text=${error} />
        ${this.spanNote()}
        ${list !== null && this.table(list)}
        ${
          matching > count &&
          html`<button type="button" class="link" onClick=${() => this.show({ count: countMax })}>Show all ${matching.toLocaleString("en-US")}</button>`
        }
      </section>
    `;
  }

  /** The time that is shown, and whether all of its errors are. */
  spanNote() {
    const { span, onAll } = this.props;
    if (span === null) return null;
    const since = Date.parse(this.state.list?.errorsSince ?? "");
    const [from = "", end = ""] = [span.from, span.end].map((time) =>
      new Date(time).toLocaleTimeString("en-GB"),
    );
    return html`
      <p class="note" role="status">
        From ${from} to ${end}. ${since > span.from && "Some are no longer kept: only the newest 1,000 errors are. "}
        <button type="button" class="link" onClick=${onAll}>Show all times</button>
      </p>
    `;
  }

  table({ requests }: RequestList) {
    const { openId, code } = this.state;
    if (requests.length === 0)
      return html`<p class="empty">${code === "" ? "No request yet. The newest 1,000 of this server, and the newest 1,000 errors, appear here as clients send them." : "No such request is kept."}</p>`;
    return html`
      <table class="list log">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Code</th>
            <th scope="col">Message</th>
            <th scope="col">Token</th>
            <th scope="col" class="number">Duration</th>
          </tr>
        </thead>
        <tbody>
          ${requests.map((request) => {
            const key = `${request.requestId} ${request.at}`;
            const isOpen = key === openId;
            return html`
              <tr key=${key} class=${isError(request.code) ? "failed" : ""}>
                <td>
                  <button
                    type="button"
                    class="link"
                    aria-expanded=${isOpen}
                    title=${exactTime(request.at)}
                    onClick=${() => this.setState({ openId: isOpen ? null : key })}
                  >
                    ${new Date(request.at).toLocaleTimeString("en-GB")}
                  </button>
                </td>
                <td><span class=${`chip ${isError(request.code) ? "failed" : ""}`}>${isError(request.code) ? request.code : request.status}</span></td>
                <td class="text main"><span title=${request.message ?? ""}>${messageText(request)}</span></td>
                <td class="text"><span title=${request.token ?? ""}>${request.token === null ? html`<span class="faint">–</span>` : untrustedText(request.token)}</span></td>
                <td class="number">${formatMs(request.ms)}</td>
              </tr>
              ${isOpen && html`<tr key=${`${key} details`} class="details"><td colspan="5">${details(request)}</td></tr>`}
            `;
          })}
        </tbody>
      </table>
    `;
  }
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
