// The index of the search, with a button to build or drop it.

import type { Indexes as IndexCalls } from "../indexes.ts";
import { type Answer, get, post } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { html } from "./format.ts";
import { ReloadingSection } from "./reloading-section.ts";
import { formatDuration, percent } from "./units.ts";

type Change = "create" | "drop";

type RunningChange = NonNullable<Index["changing"]>;

type Index = Answer<IndexCalls["state"]>;

interface State {
  index: Index | null;
  error: string;
  confirming: Change | null;
}

/** While the index is being built or dropped, its state is loaded again after this time. */
const changingMs = 1_000;

export class Indexes extends ReloadingSection<{ tick: number; engine: string }, State> {
  override state: State = { index: null, error: "", confirming: null };

  override async fetchData() {
    const index: Index = await get("index");
    if (index.changing !== null) this.loadAfter(changingMs);
    return { index };
  }

  override render() {
    const { index, error, confirming } = this.state;
    return html`
      <section class="card indexes" aria-labelledby="indexes-title">
        <header><h2 id="indexes-title">Search index</h2></header>
        <p class="note">Finds any part of a name or tag at once. It slows creates, on SQLite to a sixth.</p>
        <${ErrorMessage} text=${error === "" ? (index?.failure ?? "") : error} />
        ${index !== null && this.index(index)}
        ${confirming !== null && this.confirmation(confirming)}
      </section>
    `;
  }

  index({ state, changing }: Index) {
    const isBroken = state === "broken";
    const button = (change: Change, label: string) => html`
      <button
        type="button"
        aria-label=${`${label} the index`}
        disabled=${changing !== null || state === "building"}
        onClick=${() => this.setState({ confirming: change })}
      >
        ${label}
      </button>
    `;
    return html`
      <div class="inline">
        <span class=${`chip ${state === "broken" ? "failed" : ""}`}>${state}</span>
        ${changing !== null && progress(changing)}
        ${state !== "ready" && button("create", isBroken ? "Build again" : "Build")}
        ${(state === "ready" || isBroken) && button("drop", "Drop")}
      </div>
    `;
  }

  confirmation(change: Change) {
    const label = change === "create" ? "Build" : "Drop";
    const waits = change === "drop" && this.props.engine !== "postgres";
    return html`
      <${Confirmation}
        title=${`${label} the search index?`}
        action=${label}
        onConfirm=${async () => {
          await post("index", { change });
          await this.load();
        }}
        onClose=${() => this.setState({ confirming: null })}
      >
        <p>
          ${waits ? "Creates wait while it is dropped: about half a second for each million plants." : `Creates continue while it is ${change === "create" ? "built" : "dropped"}.`}
        </p>
      <//>
    `;
  }
}

function progress({ change, seconds, share }: RunningChange) {
  const left = share !== null && share > 0.05 ? (seconds / share) * (1 - share) : null;
  const parts = [
    ...(share === null ? [] : [percent(share)]),
    ...(seconds < 1 ? [] : [`${formatDuration(seconds)} so far`]),
    ...(left === null ? [] : [`about ${formatDuration(left)} left`]),
  ];
  return html`
    <div class="note grow" role="status">
      <progress max="1" value=${share ?? undefined} aria-label=${change === "create" ? "Building the index" : "Dropping the index"}></progress>
      <span>${parts.join(" · ")}</span>
    </div>
  `;
}
