// Shows the sections of a sandbox: its addresses, its reset, and its requests.

import type { Sandbox as SandboxState } from "../../../packages/sandbox/src/control-types.ts";
import { control } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { html } from "./markup.ts";
import { SandboxRequests } from "./sandbox-requests.ts";
import { collection } from "./shown-contract.ts";

/** `onChanged` is called when plants, tokens or requests may have changed. */
export function Sandbox({ tick, onChanged }: { tick: number; onChanged: () => void }) {
  // It never ends: requests appear as they come.
  const { data, error, reload } = useLoaded(
    () => control<SandboxState>("GET", ""),
    [tick],
    () => true,
  );
  const [isResetting, setResetting] = useState(false);
  const reset = async () => {
    await control("POST", "/reset");
    await reload();
    onChanged();
  };
  return html`
    <section class="card" aria-labelledby="sandbox-title">
      <header>
        <h2 id="sandbox-title">Sandbox</h2>
        <button type="button" class="danger" onClick=${() => setResetting(true)}>Reset</button>
      </header>
      <p class="note">Nothing is kept: ${collection.many} and tokens are gone when the server ends.</p>
      <${ErrorMessage} text=${error} />
      ${
        data !== null &&
        html`
          <dl class="facts">
            <dt>Send to</dt>
            <dd><code>POST ${data.resourcesUrl}</code></dd>
            <dt>Token</dt>
            <dd><code>${data.token}</code></dd>
          </dl>
        `
      }
      ${
        isResetting &&
        html`
          <${Confirmation} title="Reset the sandbox?" action="Reset" onConfirm=${reset} onClose=${() => setResetting(false)}>
            <p>
              The seeds replace all plants, and the fixed token replaces all tokens. The clock is set to real
              time. Rules and recorded requests are removed.
            </p>
          <//>
        `
      }
    </section>
    ${data !== null && html`<${SandboxRequests} ...${data.requests} onReload=${reload} />`}
  `;
}
