// The backup: a copy of the store that the server makes, and the browser downloads.

import type { BackupStatus } from "../backups.ts";
import { apiUrl, download, errorMessage, get, post } from "./api.ts";
import { CallingComponent } from "./calling-component.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatDate, html } from "./format.ts";
import { formatBytes } from "./units.ts";

const pollMs = 500;

interface State {
  status: BackupStatus | null;
  error: string;
  isBusy: boolean;
}

export class Backup extends CallingComponent<{ engine: string }, State> {
  override state: State = { status: null, error: "", isBusy: false };

  override componentDidMount() {
    if (this.props.engine === "sqlite") void this.follow();
  }

  override componentDidUpdate(previous: { engine: string }) {
    if (previous.engine !== this.props.engine && this.props.engine === "sqlite") void this.follow();
  }

  isFollowing = false;

  /**
   * Reloads the status until the backup is downloaded; a backup that this page has started is
   * downloaded when it is ready.
   */
  async follow(isOwn = false) {
    if (this.isFollowing) return;
    this.isFollowing = true;
    try {
      for (;;) {
        const status: BackupStatus | null = await get("backup");
        const wasCopying = this.state.status?.state === "copying";
        this.setState({ status });
        if (isOwn && status?.state === "ready" && wasCopying) download(apiUrl("backup/download", {}));
        const isSending = status?.state === "ready" && status.sent > 0;
        if (status?.state !== "copying" && !isSending && !(isOwn && status?.state === "ready")) break;
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.isFollowing = false;
  }

  async send(call: string) {
    await this.call(async () => {
      this.setState({ status: await post(call, {}) });
      if (call === "backup") void this.follow(true);
    });
  }

  override render() {
    const { error } = this.state;
    return html`
      <section class="card backup" aria-labelledby="backup-title">
        <header><h2 id="backup-title">Backup</h2></header>
        ${this.props.engine === "postgres" ? postgresText : this.sqlite()}
        <${ErrorMessage} text=${error} />
      </section>
    `;
  }

  sqlite() {
    const { status, isBusy } = this.state;
    const state = status?.state;
    return html`
      <p class="note">A verified, consistent copy of all plants and tokens. Creates continue while it is made.</p>
      <div role="status">${status !== null && statusText(status)}</div>
      <div class="inline">
        ${
          state === "copying"
            ? html`<button type="button" disabled=${isBusy} onClick=${() => this.send("backup/cancel")}>Cancel</button>`
            : html`<button type="button" disabled=${isBusy} onClick=${() => this.send("backup")}>Back up now</button>`
        }
        ${state === "ready" && html`<button type="button" onClick=${() => this.downloadAgain()}>Download</button>`}
      </div>
    `;
  }

  downloadAgain() {
    download(apiUrl("backup/download", {}));
    void this.follow(true);
  }
}

function statusText({ state, bytes, sent, storeBytes, startedAt, message }: BackupStatus) {
  if (state === "failed") return html`<p class="error">${message ?? "The backup failed."}</p>`;
  if (state === "sent")
    return html`<p class="response ok">Downloaded, ${formatBytes(bytes)}. “plantstore restore FILE” restores it.</p>`;
  const isCopying = state === "copying";
  const [done, all] = isCopying ? [bytes, storeBytes ?? 0] : [sent, bytes];
  const text = isCopying
    ? `Copying and verifying: ${formatBytes(bytes)}${all === 0 ? "" : ` of about ${formatBytes(all)}`}`
    : sent === 0
      ? html`The copy of ${formatDate(startedAt)} is ready, ${formatBytes(bytes)}. It is stored for 10 minutes.`
      : `Downloading: ${formatBytes(sent)} of ${formatBytes(bytes)}`;
  return html`
    <p>${text}</p>
    <progress aria-label="Backup" value=${Math.min(done, all)} max=${Math.max(1, all)}></progress>
  `;
}

const postgresText = html`
  <p class="note">PostgreSQL makes its own backups. One database:</p>
  <pre tabindex="0" aria-label="Command">pg_dump --format=custom --file=FILE DATABASE</pre>
  <p class="note">For a whole cluster, and to restore any point in time, use pg_basebackup with an archived write-ahead log.</p>
`;
