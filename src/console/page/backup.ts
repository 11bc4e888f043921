// The backup: a copy of the store that the server makes, and the browser downloads.

import type { BackupStatus } from "../backups.ts";
import { apiUrl, download, errorMessage, get, post } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatDate, html } from "./format.ts";
import { useCall } from "./hooks.ts";
import { useEffect, useRef, useState } from "./library.js";
import { formatBytes } from "./units.ts";

const pollMs = 500;

export function Backup({ engine }: { engine: string }) {
  return html`
    <section class="card backup" aria-labelledby="backup-title">
      <header><h2 id="backup-title">Backup</h2></header>
      ${engine === "postgres" ? postgresText : html`<${StoreBackup} />`}
    </section>
  `;
}

function StoreBackup() {
  const [status, setStatus] = useState<BackupStatus | null>(null);
  const { isBusy, error, setError, call } = useCall();
  const isFollowing = useRef(false);

  /**
   * Reloads the status until the backup is downloaded; a backup that this page has started is
   * downloaded when it is ready.
   */
  const follow = async (isOwn: boolean, last: BackupStatus | null = null) => {
    if (isFollowing.current) return;
    isFollowing.current = true;
    try {
      for (let state = last?.state; ; ) {
        const next: BackupStatus | null = await get("backup");
        setStatus(next);
        const isReady = next?.state === "ready";
        if (isOwn && isReady && state === "copying") startDownload();
        state = next?.state;
        if (state !== "copying" && !(isReady && (isOwn || next.sent > 0))) break;
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    } catch (failure) {
      setError(errorMessage(failure));
    }
    isFollowing.current = false;
  };
  useEffect(() => void follow(false), []);

  const start = () =>
    call(async () => {
      const started: BackupStatus = await post("backup", {});
      setStatus(started);
      void follow(true, started);
    });
  const cancel = () => call(async () => setStatus(await post("backup/cancel", {})));
  const downloadAgain = () => {
    startDownload();
    void follow(true);
  };
  return html`
    <p class="note">A verified, consistent copy of all plants and tokens. Creates continue while it is made.</p>
    <div role="status">${status !== null && statusText(status)}</div>
    <div class="inline">
      ${
        status?.state === "copying"
          ? html`<button type="button" disabled=${isBusy} onClick=${cancel}>Cancel</button>`
          : html`<button type="button" disabled=${isBusy} onClick=${start}>Back up now</button>`
      }
      ${status?.state === "ready" && html`<button type="button" onClick=${downloadAgain}>Download</button>`}
    </div>
    <${ErrorMessage} text=${error} />
  `;
}

function startDownload() {
  download(apiUrl("backup/download", {}));
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
