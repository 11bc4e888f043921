// The rules of a sandbox: a list, and a form that adds one, field by field or as JSON.

import { errorRegistry } from "../../core/contract/errors.ts";
import { control } from "./api.ts";
import { ActionDialog, ErrorMessage } from "./dialogs.ts";
import { formatExactJson } from "./exact-json.ts";
import { html, untrustedText } from "./format.ts";
import { useCall } from "./hooks.ts";
import { useState } from "./library.js";
import { Choice, TextField } from "./text-field.ts";
import { formatCount } from "./units.ts";

interface Rule {
  id: string;
  applied: number;
  times?: number;
  match?: Record<string, unknown>;
  outcome: Record<string, unknown>;
}

export interface RuleList {
  seed: number;
  rules: Rule[];
}

export function SandboxRules({ list, onChanged }: { list: RuleList; onChanged: () => Promise<void> }) {
  const [isAdding, setAdding] = useState(false);
  const { error, call } = useCall();
  /** @param path of one rule, or of all. */
  const remove = (path: string) => call(() => control("DELETE", path).then(onChanged));
  return html`
    <div role="group" aria-labelledby="sandbox-rules" class="rules">
      <div class="heading">
        <h3 id="sandbox-rules">Rules</h3>
        ${list.rules.length > 1 && html`<button type="button" class="quiet" onClick=${() => remove("/rules")}>Remove all</button>`}
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
              <button type="button" class="quiet" aria-label=${`Remove ${rule.id}`} onClick=${() => remove(`/rules/${rule.id}`)}>Remove</button>
            </li>
          `,
        )}
      </ul>
      ${isAdding && html`<${AddRule} onAdded=${onChanged} onClose=${() => setAdding(false)} />`}
    </div>
  `;
}

function appliedText({ applied, times }: Rule) {
  return times === undefined ? formatCount(applied, "request") : `${applied} of ${times}`;
}

/** A rule in one line, as JSON without quotes around names. */
function describe({ match = {}, outcome }: Rule) {
  const plain = (part: object) =>
    Object.entries(part)
      .map(([name, value]) => `${name} ${formatExactJson(value).replaceAll(/\s+/g, " ")}`)
      .join(", ");
  const when = Object.keys(match).length === 0 ? "every request" : plain(match);
  return `${when} → ${plain(outcome)}`;
}

const emptyFields = {
  ...{ method: "POST", tag: "", id: "", header: "", headerValue: "", share: "", times: "" },
  ...{ error: "42900", commit: false, delay: "", drop: "", body: "", bytesPerSecond: "" },
};

type Fields = typeof emptyFields;

function AddRule({ onAdded, onClose }: { onAdded: () => Promise<void>; onClose: () => void }) {
  const [fields, setFields] = useState(emptyFields);
  /** The rule that is sent. It follows the fields until the operator edits it as JSON. */
  const [json, setJson] = useState(toJson(emptyFields));
  const [isJson, setIsJson] = useState(false);
  const change = (changed: Partial<Fields>) => {
    const all = { ...fields, ...changed };
    setFields(all);
    setJson(toJson(all));
  };
  return html`
    <${ActionDialog}
      title="Add a rule"
      action="Add rule"
      onAction=${() => control("POST", "/rules", json).then(onAdded).then(onClose)}
      onClose=${onClose}
    >
      <fieldset class="choices">
        <legend>Written</legend>
        <label><input type="radio" name="form" checked=${!isJson} onChange=${() => setIsJson(false)} /> by fields</label>
        <label><input type="radio" name="form" checked=${isJson} onChange=${() => setIsJson(true)} /> as JSON</label>
      </fieldset>
      ${
        isJson
          ? html`<${TextField} label="Rule" name="rule" isMultiline rows="14" class="mono" spellcheck=${false} value=${json} onText=${setJson} />`
          : html`<${RuleFields} fields=${fields} onChange=${change} />`
      }
    <//>
  `;
}

function RuleFields({ fields, onChange }: { fields: Fields; onChange: (change: Partial<Fields>) => void }) {
  const select = (name: keyof Fields, label: string, options: [value: string, text: string][]) => html`
    <${Choice}
      label=${label}
      value=${fields[name]}
      options=${options}
      onText=${(value: string) => onChange({ [name]: value })}
    />
  `;
  const text = (name: keyof Fields, label: string, hint: string) => html`
    <${TextField}
      label=${label}
      name=${`rule-${name}`}
      placeholder=${hint}
      value=${String(fields[name])}
      onText=${(typed: string) => onChange({ [name]: typed })}
    />
  `;
  return html`
    <fieldset class="group">
      <legend>Which requests</legend>
      <div class="options">
        ${select("method", "Method", [
          ["POST", "POST"],
          ["", "any"],
          ["GET", "GET"],
          ["OPTIONS", "OPTIONS"],
        ])}
        ${text("tag", "Tag of the plant", "any")}
        ${text("id", "Id of the plant", "any")}
        ${text("header", "Header", "such as X-Test")}
        ${text("headerValue", "Its value", "")}
        ${text("share", "Share in %", "100")}
        ${text("times", "At most, times", "unlimited")}
      </div>
    </fieldset>
    <fieldset class="group">
      <legend>What happens</legend>
      <div class="options">
        ${select("error", "Error", [
          ["", "none"],
          ...Object.values(errorRegistry).map(
            ({ error, meaning }) => [String(error), `${error} ${meaning}`] as [string, string],
          ),
        ])}
        ${text("delay", "Delay in seconds", "0")}
        ${select("drop", "Connection", [
          ["", "stays open"],
          ["beforeCommit", "closed before the commit"],
          ["afterCommit", "closed after the commit"],
        ])}
        ${select("body", "Body", [
          ["", "complete"],
          ["truncated", "cut off"],
          ["wrongLength", "with a wrong length"],
          ["brokenChunk", "with a broken chunk"],
          ["garbage", "bytes that are not HTTP"],
        ])}
        ${text("bytesPerSecond", "Bytes per second", "unlimited")}
        <label class="check">
          <input type="checkbox" checked=${fields.commit} disabled=${fields.error === ""} onChange=${() => onChange({ commit: !fields.commit })} />
          ${" "}The plant is stored before the error is sent
        </label>
      </div>
    </fieldset>
  `;
}

/** The rule of the fields, as JSON. The server rejects values that are no numbers. */
function toJson(fields: Fields) {
  const number = (text: string) => (text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));
  const share = number(fields.share);
  const match = {
    ...(fields.method !== "" && { method: fields.method }),
    ...(fields.header !== "" && { headers: { [fields.header]: fields.headerValue } }),
    ...(fields.id !== "" && {
      id: /^-?\d{1,30}$/.test(fields.id.trim()) ? BigInt(fields.id.trim()) : fields.id,
    }),
    ...(fields.tag !== "" && { tag: fields.tag }),
    ...(fields.share !== "" && { share: typeof share === "number" ? share / 100 : share }),
  };
  const outcome = {
    ...(fields.error !== "" && { error: Number(fields.error) }),
    ...(fields.error !== "" && fields.commit && { commit: true }),
    ...(fields.delay !== "" && { delay: { seconds: number(fields.delay) } }),
    ...(fields.drop !== "" && { drop: fields.drop }),
    ...(fields.body !== "" && { body: fields.body }),
    ...(fields.bytesPerSecond !== "" && { bytesPerSecond: number(fields.bytesPerSecond) }),
  };
  return formatExactJson({ match, ...(fields.times !== "" && { times: number(fields.times) }), outcome });
}
