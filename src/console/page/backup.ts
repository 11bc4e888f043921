// The backup: a copy of the store that the server makes, and the browser downloads.

import type { Backups } from "../backups.ts";
import { type Answer, apiUrl, download, get, post } from "./api.ts";
import { ErrorMessage } from "./dialogs.ts";
import { formatBytes, formatDate, html } from "./format.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { useEffect, useRef } from "./library.js";

type Status = NonNullable<Answer<Backups["status"]>>;

export function Backup({ tick, engine }: { tick: number; engine: string }) {
  return html`
    <section class="card backup" aria-labelledby="backup-title">
      <header><h2 id="backup-title">Backup</h2></header>
      ${engine === "postgres" ? postgresText : html`<${StoreBackup} tick=${tick} />`}
    </section>
  `;
}

function StoreBackup({ tick }: { tick: number }) {
  const loaded = useLoaded(
    () => get<Status | null>("backup"),
    [tick],
    (last) => last?.state === "copying" || last?.state === "ready",
  );
  const status = loaded.data;
  const { isBusy, error, call } = useCall();
  const startDownload = () => download(apiUrl("backup/download", {}));
  /** A backup that this page has started is downloaded when it is ready. */
  const isAwaited = useRef(false);
  useEffect(() => {
    if (status?.state === "copying" || !isAwaited.current) return;
    isAwaited.current = false;
    if (status?.state === "ready") startDownload();
  }, [status]);

  const start = () =>
    call(async () => {
      await post("backup", {});
      await loaded.reload();
      // From now on no older status is shown: it would be taken for that of this backup.
      isAwaited.current = true;
    });
  const cancel = () => call(() => post("backup/cancel", {}).then(loaded.reload));
  return html`
    <p class="note">A verified, consistent copy of all plants and tokens. Creates continue while it is made.</p>
    <div role="status">${status !== null && statusText(status)}</div>
    <div class="inline">
      ${
        status?.state === "copying"
          ? html`<button type="button" disabled=${isBusy} onClick=${cancel}>Cancel</button>`
          : html`<button type="button" disabled=${isBusy} onClick=${start}>Back up now</button>`
      }
      ${status?.state === "ready" && html`<button type="button" onClick=${startDownload}>Download</button>`}
    </div>
    <${ErrorMessage} text=${error === "" ? loaded.error : error} />
  `;
}

function statusText({ state, bytes, storeBytes, startedAt, message }: Status) {
  if (state === "failed") return html`<p class="error">${message ?? "The backup failed."}</p>`;
  if (state === "sent")
    return html`<p class="response ok">Downloaded, ${formatBytes(bytes)}. “plantstore restore FILE” restores it.</p>`;
  if (state === "ready")
    return html`<p>The copy of ${formatDate(startedAt)} is ready, ${formatBytes(bytes)}. It is stored for 10 minutes.</p>`;
  const all = storeBytes ?? 0;
  return html`
    <p>Copying and verifying: ${formatBytes(bytes)}${all > 0 && ` of about ${formatBytes(all)}`}</p>
    <progress aria-label="Backup" value=${Math.min(bytes, all)} max=${Math.max(1, all)}></progress>
  `;
}

const postgresText = html`
  <p class="note">PostgreSQL makes its own backups. One database:</p>
  <pre tabindex="0" aria-label="Command">pg_dump --format=custom --file=FILE DATABASE</pre>
  <p class="note">For a whole cluster, and to restore any point in time, use pg_basebackup with an archived write-ahead log.</p>
`;
