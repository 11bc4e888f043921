// The recent requests: a table that is reloaded, with filters by code and, from the chart of
// errors, by time.

import { get } from "./api.js";
import { ErrorMessage } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { ReloadingSection } from "./reloading-section.js";
import { exactTime, formatMs } from "./units.js";

/**
 * @typedef {{ requestId: string, at: string, ms: number, method: string, path: string, status: number, code: string,
 *   message: string | null, token: string | null }} RecentRequest
 * @typedef {{ requests: RecentRequest[], counts: Record<string, number>, errorsSince: string | null }} RequestList
 * @typedef {{ from: number, end: number }} Span In milliseconds since the epoch.
 * @typedef {{ list: RequestList | null, error: string, code: string, count: number, openId: string | null }} State
 */

const firstCount = 20;
const countMax = 1_000;

/** Labels of results that are not errors. @type {Record<string, string | undefined>} */
const codeLabels = {
  created: "created",
  unchanged: "duplicate",
  clientAborted: "aborted by the client",
};

/** @param {string} code */
function isError(code) {
  return !(code in codeLabels);
}

/** @extends {ReloadingSection<{ slowTick: number, span: Span | null, onAll: () => void }, State>} */
export class Requests extends ReloadingSection {
  /** @override @param {{ slowTick: number, span: Span | null, onAll: () => void }} previous */
  componentDidUpdate(previous) {
    super.componentDidUpdate(previous);
    const { span } = this.props;
    if (previous.span === span) return;
    void this.show({ code: span === null ? "" : "errors", count: span === null ? firstCount : countMax });
    if (span !== null) /** @type {Element} */ (this.base).scrollIntoView({ block: "nearest" });
  }

  /** @override @type {State} */
  state = { list: null, error: "", code: "", count: firstCount, openId: null };

  /** @override */
  async fetchData() {
    const { code, count } = this.state;
    const { span } = this.props;
    const parameters = new URLSearchParams({ count: String(count), code });
    for (const [name, time] of Object.entries(span ?? {})) parameters.set(name, String(time));
    return { list: await get(`requests?${parameters}`) };
  }

  /** @param {Partial<State>} change */
  async show(change) {
    this.setState(change, () => void this.load());
  }

  /** @override */
  render() {
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
            onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
              this.show({ code: event.currentTarget.value, count: firstCount })}
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

  /** @param {RequestList} list */
  table({ requests }) {
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

/** @param {RecentRequest} request */
function messageText({ code, message, method, path }) {
  if (message !== null) return untrustedText(message);
  const label = codeLabels[code] ?? "";
  return code === "clientAborted"
    ? html`${label} <span class="faint">${method} ${untrustedText(path)}</span>`
    : label;
}

/** @param {RecentRequest} request */
function details({ requestId, at, method, path, message }) {
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
