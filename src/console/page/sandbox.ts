// The section of a sandbox: its addresses, reset, clock, snapshots and rules.

import { control, errorMessage } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { formatDate, html, onValue, untrustedText } from "./format.ts";
import type { ComponentChildren } from "./library.js";
import { ReloadingSection } from "./reloading-section.ts";
import { type RuleList, SandboxRules } from "./sandbox-rules.ts";
import { formatCount, relativeTime } from "./units.ts";

interface Snapshot {
  name: string;
  plants: number;
  createdAt: string;
}

interface Sandbox {
  url: string;
  plantsUrl: string;
  token: string;
  plants: number;
  clock: { now: string; offsetSeconds: number };
  snapshots: Snapshot[];
  rules: number;
}

interface Question {
  title: string;
  action: string;
  text: ComponentChildren;
  run: () => Promise<unknown>;
}

interface State {
  sandbox: Sandbox | null;
  rules: RuleList | null;
  error: string;
  name: string;
  time: string;
  isBusy: boolean;
  done: string;
  question: Question | null;
}

const hourSeconds = 3_600;

/** `onChanged` is called when plants, tokens or requests may be others. */
export class SandboxSection extends ReloadingSection<{ tick: number; onChanged: () => void }, State> {
  override state: State = {
    sandbox: null,
    rules: null,
    error: "",
    name: "",
    time: "",
    isBusy: false,
    done: "",
    question: null,
  };

  override async fetchData() {
    const [sandbox, rules] = await Promise.all([
      control<Sandbox>("GET", ""),
      control<RuleList>("GET", "/rules"),
    ]);
    return { sandbox, rules };
  }

  /** Makes a change, and says so, or why it failed. */
  async run(change: () => Promise<unknown>, done: string) {
    if (this.state.isBusy) return;
    this.setState({ isBusy: true, error: "", done: "" });
    try {
      await this.make(change, done);
    } catch (error) {
      this.setState({ error: errorMessage(error) });
    }
    this.setState({ isBusy: false });
  }

  async make(change: () => Promise<unknown>, done: string) {
    await change();
    await this.load();
    this.setState({ done });
    this.props.onChanged();
  }

  /** Asks before a change that loses something. */
  ask(question: Question) {
    this.setState({ question });
  }

  override render() {
    const { sandbox, rules, error, done, question } = this.state;
    return html`
      <section class="card sandbox" aria-labelledby="sandbox-title">
        <header>
          <h2 id="sandbox-title">Sandbox</h2>
          <button
            type="button"
            class="danger"
            onClick=${() =>
              this.ask({
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
        <${ErrorMessage} text=${error} />
        <p class="note done" role="status">${done}</p>
        ${
          sandbox !== null &&
          html`
            <dl class="facts addresses">
              <dt>Send to</dt>
              <dd><code>POST ${sandbox.plantsUrl}</code></dd>
              <dt>Token</dt>
              <dd><code>${sandbox.token}</code></dd>
            </dl>
            <div class="panels">
              ${this.clock(sandbox)} ${this.snapshots(sandbox)}
            </div>
            ${rules !== null && html`<${SandboxRules} list=${rules} onChanged=${() => this.load()} />`}
          `
        }
        ${question !== null && this.confirmation(question)}
      </section>
    `;
  }

  confirmation({ title, action, text, run }: Question) {
    return html`
      <${Confirmation}
        title=${title}
        action=${action}
        onConfirm=${() => this.make(run, "Done.")}
        onClose=${() => this.setState({ question: null })}
      >
        <p>${text}</p>
      <//>
    `;
  }

  clock({ clock }: Sandbox) {
    const { time, isBusy } = this.state;
    const set = (body: object, done: string) => () =>
      this.run(() => control("PUT", "/clock", JSON.stringify(body)), done);
    const isReal = clock.offsetSeconds === 0;
    return html`
      <div role="group" aria-labelledby="sandbox-clock">
        <h3 id="sandbox-clock">Clock</h3>
        <p class="figure">${formatDate(clock.now)} <span class="chip">${isReal ? "real" : "set"}</span></p>
        <p class="note">Tokens expire by it.</p>
        <div class="inline">
          <button type="button" disabled=${isBusy} onClick=${set({ advanceSeconds: hourSeconds }, "The clock was advanced by an hour.")}>+ 1 hour</button>
          <button type="button" disabled=${isBusy} onClick=${set({ advanceSeconds: 24 * hourSeconds }, "The clock was advanced by a day.")}>+ 1 day</button>
          <button type="button" disabled=${isBusy || isReal} onClick=${set({ offsetSeconds: 0 }, "The clock is the real one.")}>Real time</button>
        </div>
        <form
          class="inline"
          onSubmit=${(event: SubmitEvent) => {
            event.preventDefault();
            if (time !== "") void set({ now: new Date(time).toISOString() }, "The clock is set.")();
          }}
        >
          <input
            class="grow"
            type="datetime-local"
            step="1"
            aria-label="Time of the clock"
            value=${time}
            onInput=${onValue((typed) => this.setState({ time: typed }))}
          />
          <button disabled=${isBusy || time === ""}>Set</button>
        </form>
      </div>
    `;
  }

  snapshots({ snapshots, plants }: Sandbox) {
    const { name, isBusy } = this.state;
    const path = (of: string) => `/snapshots/${encodeURIComponent(of)}`;
    return html`
      <div role="group" aria-labelledby="sandbox-snapshots">
        <h3 id="sandbox-snapshots">Snapshots</h3>
        <p class="note">Copies of all plants; the sandbox has ${formatCount(plants, "plant")} now.</p>
        <form
          class="inline"
          onSubmit=${(event: SubmitEvent) => {
            event.preventDefault();
            if (name === "") return;
            const isThere = snapshots.some((one) => one.name === name);
            const take = () => control("PUT", path(name));
            const done = `The snapshot ${name} is taken.`;
            if (!isThere) void this.run(take, done).then(() => this.setState({ name: "" }));
            else
              this.ask({
                title: `Take the snapshot ${name} again?`,
                action: "Take it again",
                text: "Its plants are replaced with the current ones.",
                run: take,
              });
          }}
        >
          <input
            class="grow"
            aria-label="Name of the snapshot"
            placeholder="Name, such as before-tests"
            autocomplete="off"
            maxlength="64"
            value=${name}
            onInput=${onValue((typed) => this.setState({ name: typed.trim() }))}
          />
          <button disabled=${isBusy || name === ""}>Take</button>
        </form>
        <ul class="rows">
          ${snapshots.map(
            (one) => html`
              <li key=${one.name}>
                <div class="grow">
                  <span class="name cut" title=${one.name}>${untrustedText(one.name)}</span>
                  <small>${formatCount(one.plants, "plant")} · ${relativeTime(one.createdAt)}</small>
                </div>
                <button
                  type="button"
                  class="quiet"
                  aria-label=${`Restore ${one.name}`}
                  onClick=${() =>
                    this.ask({
                      title: `Restore the snapshot ${one.name}?`,
                      action: "Restore",
                      text: `All plants are replaced with the ${formatCount(one.plants, "plant")} of the snapshot.`,
                      run: () => control("POST", `${path(one.name)}/restore`),
                    })}
                >
                  Restore
                </button>
                <button
                  type="button"
                  class="quiet"
                  aria-label=${`Delete ${one.name}`}
                  onClick=${() => this.run(() => control("DELETE", path(one.name)), `The snapshot ${one.name} is deleted.`)}
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
}
