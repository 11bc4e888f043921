// Shows the sections of a sandbox: its addresses, reset, clock and rules, and its requests.

import type {
  Clock as ClockState,
  Sandbox as SandboxState,
} from "../../../packages/sandbox/src/control-types.ts";
import { control } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { formatDate, html, onSubmit, textsOf } from "./markup.ts";
import { SandboxRequests } from "./sandbox-requests.ts";
import { type RuleList, SandboxRules } from "./sandbox-rules.ts";
import { collection } from "./shown-contract.ts";

/** Makes a change now, and says what was done. */
type Run = (change: () => Promise<unknown>, done: string) => Promise<void>;

const hourSeconds = 3_600;

/** `onChanged` is called when plants, tokens or requests may have changed. */
export function Sandbox({ tick, onChanged }: { tick: number; onChanged: () => void }) {
  const load = async () => {
    const [sandbox, rules] = await Promise.all([
      control<SandboxState>("GET", ""),
      control<RuleList>("GET", "/rules"),
    ]);
    return { sandbox, rules };
  };
  // It never ends: requests appear as they come.
  const loaded = useLoaded(load, [tick], () => true);
  const [done, setDone] = useState("");
  const [isResetting, setResetting] = useState(false);
  const { isBusy, error, call } = useCall();
  const make: Run = async (change, text) => {
    await change();
    await loaded.reload();
    setDone(text);
    onChanged();
  };
  const run: Run = async (change, text) => {
    if (isBusy) return;
    setDone("");
    await call(() => make(change, text));
  };
  return html`
    <section class="card sandbox" aria-labelledby="sandbox-title">
      <header>
        <h2 id="sandbox-title">Sandbox</h2>
        <button type="button" class="danger" onClick=${() => setResetting(true)}>Reset</button>
      </header>
      <p class="note">Nothing is kept: ${collection.many} and tokens are gone when the server ends.</p>
      <${ErrorMessage} text=${error === "" ? loaded.error : error} />
      <p class="note done" role="status">${done}</p>
      ${
        loaded.data !== null &&
        html`
          <dl class="facts addresses">
            <dt>Send to</dt>
            <dd><code>POST ${loaded.data.sandbox.resourcesUrl}</code></dd>
            <dt>Token</dt>
            <dd><code>${loaded.data.sandbox.token}</code></dd>
          </dl>
          <${Clock} ...${loaded.data.sandbox.clock} isBusy=${isBusy} onRun=${run} />
          <${SandboxRules} list=${loaded.data.rules} onChanged=${loaded.reload} />
        `
      }
      ${
        isResetting &&
        html`
          <${Confirmation}
            title="Reset the sandbox?"
            action="Reset"
            onConfirm=${() => make(() => control("POST", "/reset"), "Done.")}
            onClose=${() => setResetting(false)}
          >
            <p>
              The seeds replace all plants, and the fixed token replaces all tokens. The clock is set to real
              time. Rules and recorded requests are removed.
            </p>
          <//>
        `
      }
    </section>
    ${loaded.data !== null && html`<${SandboxRequests} ...${loaded.data.sandbox.requests} onReload=${loaded.reload} />`}
  `;
}

function Clock({ now, offsetSeconds, isBusy, onRun }: ClockState & { isBusy: boolean; onRun: Run }) {
  const set = (seconds: number, done: string) => () =>
    onRun(() => control("PUT", "/clock", JSON.stringify({ offsetSeconds: seconds })), done);
  const isReal = offsetSeconds === 0;
  const setTime = (form: HTMLFormElement) => {
    const { time = "" } = textsOf(form);
    return set((Date.parse(time) - Date.now()) / 1_000, "The clock is set.")();
  };
  return html`
    <div role="group" aria-labelledby="sandbox-clock" class="part">
      <h3 id="sandbox-clock">Clock</h3>
      <p class="figure">${formatDate(now)} <span class="chip">${isReal ? "real" : "set"}</span></p>
      <p class="note">Tokens expire by it.</p>
      <div class="inline">
        <button type="button" disabled=${isBusy} onClick=${set(offsetSeconds + hourSeconds, "The clock was advanced by an hour.")}>+ 1 hour</button>
        <button type="button" disabled=${isBusy} onClick=${set(offsetSeconds + 24 * hourSeconds, "The clock was advanced by a day.")}>+ 1 day</button>
        <button type="button" disabled=${isBusy || isReal} onClick=${set(0, "The clock is the real one.")}>Real time</button>
      </div>
      <form class="inline" onSubmit=${onSubmit(setTime)}>
        <input class="grow" type="datetime-local" name="time" step="1" required aria-label="Time of the clock" />
        <button disabled=${isBusy}>Set</button>
      </form>
    </div>
  `;
}
