// The sections of a sandbox: its addresses, reset, clock, snapshots and rules, and its requests.

import type { Clock as ClockState, Snapshot } from "../../../packages/sandbox/src/control-types.ts";
import { control } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { formatCount, formatDate, html, onSubmit, relativeTime, textsOf, untrustedText } from "./format.ts";
import { useCall, useLoaded } from "./hooks.ts";
import { useState } from "./library.js";
import { type LogNumbers, SandboxRequests } from "./sandbox-requests.ts";
import { type RuleList, SandboxRules } from "./sandbox-rules.ts";

interface SandboxState {
  plantsUrl: string;
  token: string;
  plants: number;
  clock: ClockState;
  snapshots: Snapshot[];
  requests: LogNumbers;
}

interface Question {
  title: string;
  action: string;
  text: string;
  run: () => Promise<unknown>;
}

/** Makes a change now, and says what was done. */
type Run = (change: () => Promise<unknown>, done: string) => Promise<void>;

const hourSeconds = 3_600;

/** `onChanged` is called when plants, tokens or requests may be others. */
export function Sandbox({ tick, onChanged }: { tick: number; onChanged: () => void }) {
  const loaded = useLoaded(async () => {
    const [sandbox, rules] = await Promise.all([
      control<SandboxState>("GET", ""),
      control<RuleList>("GET", "/rules"),
    ]);
    return { sandbox, rules };
  }, [tick]);
  const [done, setDone] = useState("");
  /** The question before a change that loses something. */
  const [question, ask] = useState<Question | null>(null);
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
        <button
          type="button"
          class="danger"
          onClick=${() =>
            ask({
              title: "Reset the sandbox?",
              action: "Reset",
              text: "The seeds replace all plants, and the fixed token replaces all tokens. The clock is set to real time. Rules and recorded requests are removed. Snapshots stay.",
              run: () => control("POST", "/reset"),
            })}
        >
          Reset
        </button>
      </header>
      <p class="note">Nothing is kept: plants and tokens are gone when the server ends.</p>
      <${ErrorMessage} text=${error === "" ? loaded.error : error} />
      <p class="note done" role="status">${done}</p>
      ${
        loaded.data !== null &&
        html`
          <dl class="facts addresses">
            <dt>Send to</dt>
            <dd><code>POST ${loaded.data.sandbox.plantsUrl}</code></dd>
            <dt>Token</dt>
            <dd><code>${loaded.data.sandbox.token}</code></dd>
          </dl>
          <div class="panels">
            <${Clock} ...${loaded.data.sandbox.clock} isBusy=${isBusy} onRun=${run} />
            <${Snapshots} ...${loaded.data.sandbox} isBusy=${isBusy} onRun=${run} onAsk=${ask} />
          </div>
          <${SandboxRules} list=${loaded.data.rules} onChanged=${loaded.reload} />
        `
      }
      ${
        question !== null &&
        html`
          <${Confirmation}
            title=${question.title}
            action=${question.action}
            onConfirm=${() => make(question.run, "Done.")}
            onClose=${() => ask(null)}
          >
            <p>${question.text}</p>
          <//>
        `
      }
    </section>
    ${loaded.data !== null && html`<${SandboxRequests} ...${loaded.data.sandbox.requests} onReload=${loaded.reload} />`}
  `;
}

function Clock({ now, offsetSeconds, isBusy, onRun }: ClockState & { isBusy: boolean; onRun: Run }) {
  const set = (body: object, done: string) => () =>
    onRun(() => control("PUT", "/clock", JSON.stringify(body)), done);
  const isReal = offsetSeconds === 0;
  const setTime = (form: HTMLFormElement) => {
    const { time = "" } = textsOf(form);
    return set({ now: new Date(time).toISOString() }, "The clock is set.")();
  };
  return html`
    <div role="group" aria-labelledby="sandbox-clock">
      <h3 id="sandbox-clock">Clock</h3>
      <p class="figure">${formatDate(now)} <span class="chip">${isReal ? "real" : "set"}</span></p>
      <p class="note">Tokens expire by it.</p>
      <div class="inline">
        <button type="button" disabled=${isBusy} onClick=${set({ advanceSeconds: hourSeconds }, "The clock was advanced by an hour.")}>+ 1 hour</button>
        <button type="button" disabled=${isBusy} onClick=${set({ advanceSeconds: 24 * hourSeconds }, "The clock was advanced by a day.")}>+ 1 day</button>
        <button type="button" disabled=${isBusy || isReal} onClick=${set({ offsetSeconds: 0 }, "The clock is the real one.")}>Real time</button>
      </div>
      <form class="inline" onSubmit=${onSubmit(setTime)}>
        <input class="grow" type="datetime-local" name="time" step="1" required aria-label="Time of the clock" />
        <button disabled=${isBusy}>Set</button>
      </form>
    </div>
  `;
}

function Snapshots({
  snapshots,
  plants,
  isBusy,
  onRun,
  onAsk,
}: SandboxState & { isBusy: boolean; onRun: Run; onAsk: (question: Question) => void }) {
  const path = (name: string) => `/snapshots/${encodeURIComponent(name)}`;
  const take = async (form: HTMLFormElement) => {
    const name = (textsOf(form).name ?? "").trim();
    const put = () => control("PUT", path(name)).then(() => form.reset());
    if (!snapshots.some((one) => one.name === name)) return onRun(put, `The snapshot ${name} is taken.`);
    return onAsk({
      title: `Take the snapshot ${name} again?`,
      action: "Take it again",
      text: "Its plants are replaced with the current ones.",
      run: put,
    });
  };
  return html`
    <div role="group" aria-labelledby="sandbox-snapshots">
      <h3 id="sandbox-snapshots">Snapshots</h3>
      <p class="note">Copies of all plants; the sandbox has ${formatCount(plants, "plant")} now.</p>
      <form class="inline" onSubmit=${onSubmit(take)}>
        <input
          class="grow"
          name="name"
          required
          pattern=".*\\S.*"
          aria-label="Name of the snapshot"
          placeholder="Name, such as before-tests"
          autocomplete="off"
          maxlength="64"
        />
        <button disabled=${isBusy}>Take</button>
      </form>
      <ul class="rows">
        ${snapshots.map(
          ({ name, plants: count, createdAt }) => html`
            <li key=${name}>
              <div class="grow">
                <span class="name cut" title=${name}>${untrustedText(name)}</span>
                <small>${formatCount(count, "plant")} · ${relativeTime(createdAt)}</small>
              </div>
              <button
                type="button"
                class="quiet"
                aria-label=${`Restore ${name}`}
                onClick=${() =>
                  onAsk({
                    title: `Restore the snapshot ${name}?`,
                    action: "Restore",
                    text: `All plants are replaced with the ${formatCount(count, "plant")} of the snapshot.`,
                    run: () => control("POST", `${path(name)}/restore`),
                  })}
              >
                Restore
              </button>
              <button
                type="button"
                class="quiet"
                aria-label=${`Delete ${name}`}
                onClick=${() => onRun(() => control("DELETE", path(name)), `The snapshot ${name} is deleted.`)}
              >
                Delete
              </button>
            </li>
          `,
        )}
      </ul>
    </div>
  `;
}
