// The index of the search, with a button to build or drop it.

import type { Indexes as IndexCalls } from "../indexes.ts";
import { type Answer, get, post } from "./api.ts";
import { Confirmation, ErrorMessage } from "./dialogs.ts";
import { formatDuration, html, percent } from "./format.ts";
import { useLoaded } from "./hooks.ts";
import { useState } from "./library.js";

type Change = "create" | "drop";

type Index = Answer<IndexCalls["state"]>;

const labels = { create: "Build", drop: "Drop" };

export function Indexes({ tick, engine }: { tick: number; engine: string }) {
  const {
    data: index,
    error,
    reload,
  } = useLoaded(
    () => get<Index>("index"),
    [tick],
    ({ changing }) => changing !== null,
  );
  const [confirming, confirm] = useState<Change | null>(null);
  return html`
    <section class="card indexes" aria-labelledby="indexes-title">
      <header><h2 id="indexes-title">Search index</h2></header>
      <p class="note">Finds any part of a name or tag at once. It slows creates, on SQLite to a sixth.</p>
      <${ErrorMessage} text=${error === "" ? (index?.failure ?? "") : error} />
      ${index !== null && html`<${IndexState} ...${index} onChange=${confirm} />`}
      ${
        confirming !== null &&
        html`
          <${Confirmation}
            title=${`${labels[confirming]} the search index?`}
            action=${labels[confirming]}
            onConfirm=${() => post("index", { change: confirming }).then(reload)}
            onClose=${() => confirm(null)}
          >
            <p>${consequence(confirming, engine)}</p>
          <//>
        `
      }
    </section>
  `;
}

function IndexState({ state, changing, onChange }: Index & { onChange: (change: Change) => void }) {
  const isBroken = state === "broken";
  const button = (change: Change, label: string) => html`
    <button
      type="button"
      aria-label=${`${label} the index`}
      disabled=${changing !== null || state === "building"}
      onClick=${() => onChange(change)}
    >
      ${label}
    </button>
  `;
  return html`
    <div class="inline">
      <span class=${`chip ${isBroken ? "failed" : ""}`}>${state}</span>
      ${changing !== null && html`<${Progress} ...${changing} />`}
      ${state !== "ready" && button("create", isBroken ? "Build again" : "Build")}
      ${(state === "ready" || isBroken) && button("drop", "Drop")}
    </div>
  `;
}

function consequence(change: Change, engine: string) {
  if (change === "create") return "Creates continue while it is built.";
  if (engine === "postgres") return "Creates continue while it is dropped.";
  return "Creates wait while it is dropped: about half a second for each million plants.";
}

function Progress({ change, seconds, share }: NonNullable<Index["changing"]>) {
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
