// The recent requests: a table that is reloaded, with a filter by code, and the bodies where an operator has them stored.

import { errorMessage, get, post } from "./api.js";
import { ErrorMessage } from "./dialogs.js";
import { html, untrustedText } from "./format.js";
import { ReloadingSection } from "./reloading-section.js";
import { exactTime, formatMs } from "./units.js";

/**
 * @typedef {{ requestId: string, at: string, ms: number, method: string, path: string, status: number, code: string,
 *   message: string | null, token: string | null, body: string | null }} RecentRequest
 * @typedef {{ requests: RecentRequest[], counts: Record<string, number>, captureEndsAt: number | null }} RequestList
 * @typedef {{ list: RequestList | null, error: string, code: string, count: number, openId: string | null,
 *   minutes: string }} State
 */

const firstCount = 20;
const countMax = 1_000;

/** Of results that are not errors. @type {Record<string, string | undefined>} */
const codeLabels = {
  created: "created",
  unchanged: "duplicate",
  served: "served",
  clientAborted: "aborted by the client",
};

/** @param {string} code */
function isError(code) {
  return !(code in codeLabels);
}

/** @extends {ReloadingSection<{ slowTick: number }, State>} */
export class Requests extends ReloadingSection {
  /** @override @type {State} */
  state = { list: null, error: "", code: "", count: firstCount, openId: null, minutes: "15" };

  /** @override */
  async fetchData() {
    const { code, count } = this.state;
    return { list: await get("requests", { count: String(count), ...(code === "" ? {} : { code }) }) };
  }

  /** @param {Partial<State>} change */
  async show(change) {
    this.setState(change, () => void this.load());
  }

  /** @param {string} minutes */
  async captureBodies(minutes) {
    try {
      await post("requests/bodies", { minutes });
      await this.load();
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
  }

  /** @override */
  render() {
    const { list, error, code, count } = this.state;
    const codes = Object.entries(list?.counts ?? {}).sort(([one], [other]) => one.localeCompare(other));
    const total = codes.reduce((sum, [, number]) => sum + number, 0);
    const matching = code === "" ? total : (list?.counts[code] ?? 0);
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
            ${codes.map(([each, number]) => html`<option value=${each}>${codeLabels[each] ?? each} (${number.toLocaleString("en-US")})</option>`)}
            ${code !== "" && !(code in (list?.counts ?? {})) && html`<option value=${code}>${codeLabels[code] ?? code} (0)</option>`}
          </select>
        </header>
        <${ErrorMessage} text=${error} />
        ${list !== null && this.table(list)}
        ${
          matching > count &&
          html`<button type="button" class="link" onClick=${() => this.show({ count: countMax })}>Show all ${matching.toLocaleString("en-US")}</button>`
        }
        ${list !== null && this.bodies(list)}
      </section>
    `;
  }

  /** @param {RequestList} list */
  table({ requests }) {
    const { openId, code } = this.state;
    if (requests.length === 0)
      return html`<p class="empty">${code === "" ? "No request yet. The newest 1,000 of this server appear here as clients send them." : "No request has this code any more."}</p>`;
    return html`
      <table class="log">
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
                <td><span class=${`code ${isError(request.code) ? "failed" : ""}`}>${isError(request.code) ? request.code : request.status}</span></td>
                <td class="text"><span title=${request.message ?? ""}>${messageText(request)}</span></td>
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

  /** @param {RequestList} list */
  bodies({ captureEndsAt }) {
    const { minutes } = this.state;
    if (captureEndsAt !== null)
      return html`
        <p class="capture on" role="status">
          <span>
            Bodies are stored until ${new Date(captureEndsAt).toLocaleTimeString("en-GB")}: the first 4 KiB of each, in the memory of this
            server only.
          </span>
          <button type="button" onClick=${() => this.captureBodies("0")}>Stop and drop them</button>
        </p>
      `;
    return html`
      <details class="capture">
        <summary>Bodies are not stored</summary>
        <p>
          To see what a client sends, store the bodies for a while: the first 4 KiB of each of these requests, in the memory of this
          server. They are never written to a disk or to the log, and are dropped when the time is over.
        </p>
        <div class="inline">
          <select
            aria-label="How long bodies are stored"
            value=${minutes}
            onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
              this.setState({ minutes: event.currentTarget.value })}
          >
            <option value="5">for 5 minutes</option>
            <option value="15">for 15 minutes</option>
            <option value="60">for 1 hour</option>
          </select>
          <button type="button" onClick=${() => this.captureBodies(minutes)}>Store bodies</button>
        </div>
      </details>
    `;
  }
}

/** @param {RecentRequest} request */
function messageText({ code, message, method, path }) {
  if (message !== null) return untrustedText(message);
  const label = codeLabels[code] ?? "";
  return code === "served" || code === "clientAborted"
    ? html`${label} <span class="faint">${method} ${untrustedText(path)}</span>`
    : label;
}

/** @param {RecentRequest} request */
function details({ requestId, at, method, path, message, body }) {
  return html`
    <dl class="facts">
      <dt>Time</dt>
      <dd>${exactTime(at)}</dd>
      <dt>Request</dt>
      <dd>${method} ${untrustedText(path)}</dd>
      <dt>Id</dt>
      <dd><code>${requestId}</code></dd>
      ${message !== null && html`<dt>Message</dt><dd>${untrustedText(message)}</dd>`}
      ${body !== null && html`<dt>Body</dt><dd><pre class="full-text"><bdi>${body}</bdi></pre></dd>`}
    </dl>
  `;
}
