// Shows the rules of a sandbox, and a form that adds one as JSON, from an example.

import type { StoredRule } from "../../../packages/sandbox/src/control-types.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { control } from "./api.ts";
import { ActionDialog, ErrorMessage } from "./dialogs.ts";
import { formatCount } from "./formats.ts";
import { useCall } from "./hooks.ts";
import { useState } from "./library.js";
import { html, untrustedText } from "./markup.ts";
import { collection, groupField } from "./shown-contract.ts";
import { Choice, TextField } from "./text-field.ts";

export interface RuleList {
  seed: number;
  rules: StoredRule[];
}

export function SandboxRules({ list, onChanged }: { list: RuleList; onChanged: () => Promise<void> }) {
  const [isAdding, setAdding] = useState(false);
  const { error, call } = useCall();
  const remove = (id: string) => call(() => control("DELETE", `/rules/${id}`).then(onChanged));
  const removeAll = () => call(() => control("PUT", "/rules", '{"rules":[]}').then(onChanged));
  return html`
    <div role="group" aria-labelledby="sandbox-rules" class="part">
      <div class="heading">
        <h3 id="sandbox-rules">Rules</h3>
        ${list.rules.length > 1 && html`<button type="button" class="quiet" onClick=${removeAll}>Remove all</button>`}
        <button type="button" onClick=${() => setAdding(true)}>Add a rule</button>
      </div>
      <p class="note">The first rule that matches a request forces its outcome. Shares and delays are drawn with the seed ${list.seed}, so that a run repeats.</p>
      <${ErrorMessage} text=${error} />
      ${list.rules.length === 0 && html`<p class="empty">No rule: every request gets its real response.</p>`}
      <ul class="rows">
        ${list.rules.map(
          (rule) => html`
            <li key=${rule.id}>
              <div class="grow">
                <span class="name">${rule.id}</span> <span class="chip">${appliedText(rule)}</span>
                <small>${untrustedText(describe(rule))}</small>
              </div>
              <button type="button" class="quiet" aria-label=${`Remove ${rule.id}`} onClick=${() => remove(rule.id)}>Remove</button>
            </li>
          `,
        )}
      </ul>
      ${isAdding && html`<${AddRule} onAdded=${onChanged} onClose=${() => setAdding(false)} />`}
    </div>
  `;
}

function appliedText({ applied, times }: StoredRule) {
  return times === undefined ? formatCount(applied, "request") : `${applied} of ${times}`;
}

/** A rule in one line, as JSON without quotes around names. */
function describe({ match = {}, outcome }: StoredRule) {
  const plain = (part: object) =>
    Object.entries(part)
      .map(([name, value]) => `${name} ${toExactJson(value)}`)
      .join(", ");
  const when = Object.keys(match).length === 0 ? "every request" : plain(match);
  return `${when} → ${plain(outcome)}`;
}

/**
 * Conditions of a rule's `match` that are not fields. A field of that name is a member of `body`.
 */
const ownConditions = ["method", "headers", "body", "id", "share"];

function fieldCondition(name: string, value: string): object {
  return ownConditions.includes(name) ? { body: { [name]: value } } : { [name]: value };
}

type Example = readonly [label: string, rule: object];

function examples(): Example[] {
  const group = groupField()?.name;
  const all: (Example | false)[] = [
    ["Each request is over the rate limit", { outcome: { error: 42900 } }],
    [
      "One create is stored, and answered with 503",
      { times: 1, match: { method: "POST" }, outcome: { error: 50300, commit: true } },
    ],
    [
      `One ${collection.one} in ten waits for two seconds`,
      { match: { share: 0.1 }, outcome: { delay: { seconds: 2 } } },
    ],
    !collection.id.isText && ["One id fails", { match: { id: 42 }, outcome: { error: 50000 } }],
    group !== undefined && [
      `One ${group} is dropped before the commit`,
      { match: fieldCondition(group, groupField()?.example ?? ""), outcome: { drop: "beforeCommit" } },
    ],
    ["The response is cut off", { outcome: { body: "truncated" } }],
    ["The response is slow", { outcome: { bytesPerSecond: 10 } }],
  ];
  return all.filter((example) => example !== false);
}

function AddRule({ onAdded, onClose }: { onAdded: () => Promise<void>; onClose: () => void }) {
  const all = examples();
  const jsonOf = (example: number) => toExactJson(all[example]?.[1], 2);
  const [json, setJson] = useState(jsonOf(0));
  return html`
    <${ActionDialog}
      title="Add a rule"
      action="Add rule"
      onAction=${() => control("POST", "/rules", json).then(onAdded).then(onClose)}
      onClose=${onClose}
    >
      <${Choice}
        label="Example"
        options=${all.map(([label], at) => [String(at), label])}
        onText=${(at: string) => setJson(jsonOf(Number(at)))}
      />
      <${TextField} label="Rule" name="rule" isMultiline rows="12" class="mono" spellcheck=${false} value=${json} onText=${setJson} />
    <//>
  `;
}
