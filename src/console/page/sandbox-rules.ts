// The rules of a sandbox: a list, and a form that adds one, field by field or as JSON.

import type { StoredRule } from "../../../packages/sandbox/src/control-types.ts";
import { errorRegistry } from "../../core/contract/errors.ts";
import { toExactJson } from "../../core/contract/exact-json.ts";
import { groupField } from "../../core/contract/fields.ts";
import { control } from "./api.ts";
import { ActionDialog, ErrorMessage } from "./dialogs.ts";
import { formatCount, html, textsOf, untrustedText } from "./format.ts";
import { useCall } from "./hooks.ts";
import { useState } from "./library.js";
import { labelOf } from "./plant-fields.ts";
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
    <div role="group" aria-labelledby="sandbox-rules" class="rules">
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

function AddRule({ onAdded, onClose }: { onAdded: () => Promise<void>; onClose: () => void }) {
  /** The rule as the operator edits it; null while it is written by fields. */
  const [json, setJson] = useState<string | null>(null);
  const editJson = ({ currentTarget: { form } }: { currentTarget: HTMLInputElement }) =>
    form !== null && setJson(toJson(textsOf(form)));
  return html`
    <${ActionDialog}
      title="Add a rule"
      action="Add rule"
      onAction=${(form: HTMLFormElement) =>
        control("POST", "/rules", json ?? toJson(textsOf(form)))
          .then(onAdded)
          .then(onClose)}
      onClose=${onClose}
    >
      <fieldset class="choices">
        <legend>Written</legend>
        <label><input type="radio" name="form" checked=${json === null} onChange=${() => setJson(null)} /> by fields</label>
        <label><input type="radio" name="form" checked=${json !== null} onChange=${editJson} /> as JSON</label>
      </fieldset>
      <div hidden=${json !== null}><${RuleFields} /></div>
      ${json !== null && html`<${TextField} label="Rule" name="rule" isMultiline rows="14" class="mono" spellcheck=${false} value=${json} onText=${setJson} />`}
    <//>
  `;
}

const initialError = "42900";

function RuleFields() {
  const [error, setError] = useState(initialError);
  return html`
    <fieldset class="group">
      <legend>Which requests</legend>
      <div class="options">
        <${Choice}
          label="Method"
          name="method"
          options=${[["POST", "POST"], ["", "any"], ["GET", "GET"], ["OPTIONS", "OPTIONS"]]}
        />
        ${groupField !== undefined && html`<${TextField} label=${`${labelOf(groupField)} of the plant`} name=${groupField} placeholder="any" />`}
        <${TextField} label="Id of the plant" name="id" placeholder="any" />
        <${TextField} label="Header" name="header" placeholder="such as X-Test" />
        <${TextField} label="Its value" name="headerValue" />
        <${TextField} label="Share in %" name="share" placeholder="100" />
        <${TextField} label="At most, times" name="times" placeholder="unlimited" />
      </div>
    </fieldset>
    <fieldset class="group">
      <legend>What happens</legend>
      <div class="options">
        <${Choice}
          label="Error"
          name="error"
          initial=${initialError}
          options=${[
            ["", "none"],
            ...Object.values(errorRegistry).map(({ error: code, meaning }) => [
              String(code),
              `${code} ${meaning}`,
            ]),
          ]}
          onText=${setError}
        />
        <${TextField} label="Delay in seconds" name="delay" placeholder="0" />
        <${Choice}
          label="Connection"
          name="drop"
          options=${[
            ["", "stays open"],
            ["beforeCommit", "closed before the commit"],
            ["afterCommit", "closed after the commit"],
          ]}
        />
        <${Choice}
          label="Body"
          name="body"
          options=${[
            ["", "complete"],
            ["truncated", "cut off"],
            ["wrongLength", "with a wrong length"],
            ["brokenChunk", "with a broken chunk"],
            ["garbage", "bytes that are not HTTP"],
          ]}
        />
        <${TextField} label="Bytes per second" name="bytesPerSecond" placeholder="unlimited" />
        <label class="check">
          <input type="checkbox" name="commit" disabled=${error === ""} /> The plant is stored before the error is sent
        </label>
      </div>
    </fieldset>
  `;
}

/** The rule of the form's fields, as JSON. The server rejects values that are no numbers. */
function toJson({ header = "", share = "", ...texts }: Record<string, string>) {
  const number = (text: string) => (text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));
  const { id = "", error = "", delay = "", times = "", bytesPerSecond = "" } = texts;
  const percent = number(share);
  const match = {
    ...(texts.method !== "" && { method: texts.method }),
    ...(header !== "" && { headers: { [header]: texts.headerValue } }),
    ...(id !== "" && { id: /^-?\d{1,30}$/.test(id.trim()) ? BigInt(id.trim()) : id }),
    ...(groupField !== undefined && texts[groupField] !== "" && { [groupField]: texts[groupField] }),
    ...(share !== "" && { share: typeof percent === "number" ? percent / 100 : percent }),
  };
  const outcome = {
    ...(error !== "" && { error: Number(error) }),
    ...(texts.commit !== undefined && { commit: true }),
    ...(delay !== "" && { delay: { seconds: number(delay) } }),
    ...(texts.drop !== "" && { drop: texts.drop }),
    ...(texts.body !== "" && { body: texts.body }),
    ...(bytesPerSecond !== "" && { bytesPerSecond: number(bytesPerSecond) }),
  };
  return toExactJson({ match, ...(times !== "" && { times: number(times) }), outcome }, 2);
}
