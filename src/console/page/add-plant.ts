// The form that adds a plant: it sends POST /plants, as the operator or with a pasted token, and
// shows the response at the field that it is about.

import { type FieldName, fieldNames, isRequired, typeOf } from "../../core/contract/fields.ts";
import { parseInt64 } from "../../core/contract/int64.ts";
import type { createPlant } from "../new-plant.ts";
import { type Answer, post } from "./api.ts";
import { ActionDialog } from "./dialogs.ts";
import { html, untrustedText } from "./format.ts";
import { useRef, useState } from "./library.js";
import { FieldInput } from "./plant-fields.ts";
import { TextField } from "./text-field.ts";

type CreateResponse = Answer<typeof createPlant>;

/** The id and the fields as typed. */
type Draft = Readonly<Record<string, string>>;

/** Also that of the token. */
type FieldErrors = Readonly<Record<string, string | undefined>>;

const emptyDraft: Draft = Object.fromEntries(["id", ...fieldNames].map((name) => [name, ""]));

export function AddPlant({
  token,
  onToken,
  onCreated,
  onClose,
}: {
  token: string;
  onToken: (token: string) => void;
  onCreated: () => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(emptyDraft);
  const newest = useRef(draft);
  newest.current = draft;
  const [isOperator, setOperator] = useState(true);
  const [sent, setSent] = useState(emptyDraft);
  const [response, setResponse] = useState<CreateResponse | null>(null);
  const [errors, setErrors] = useState<FieldErrors>({});
  const clearError = (name: string) => setErrors((all) => ({ ...all, [name]: undefined }));

  const submit = async (form: HTMLFormElement) => {
    const focus = (name: string) => form.querySelector<HTMLElement>(`[name="${name}"]`)?.focus();
    /** Shows errors, and begins with the first. */
    const complain = (found: FieldErrors) => {
      setErrors(found);
      focus(Object.keys(found)[0] ?? "id");
    };
    setResponse(null);
    if (!isOperator && token === "")
      return complain({ token: "Paste a token, or add the plant as the operator." });
    setErrors({});
    const created: CreateResponse = await post("plants", {
      token: isOperator ? "" : token,
      body: newPlantJson(draft),
    });
    setResponse(created);
    setSent(draft);
    if (created.status !== 200) {
      const found = explain(created, draft);
      if (Object.keys(found).length > 0) return complain(found);
      throw new Error(parseBody(created).message);
    }
    onCreated();
    // Text typed since the request belongs to the next plant.
    if (newest.current !== draft) return;
    setDraft(emptyDraft);
    focus("id");
  };

  const field = (name: string) => ({
    value: draft[name] ?? "",
    error: errors[name] ?? "",
    onText: (text: string) => {
      setDraft((typed) => ({ ...typed, [name]: text }));
      clearError(name);
    },
  });
  const choose = (isOwn: boolean) => () => {
    setOperator(isOwn);
    clearError("token");
  };
  return html`
    <${ActionDialog} title="Add a plant" action="Add plant" dismissal="Close" onAction=${submit} onClose=${onClose}>
      <${TextField} label="Id" name="id" inputmode="numeric" autofocus hint="A whole number, such as 42" ...${field("id")} />
      ${fieldNames.map((name) => html`<${FieldInput} field=${name} isOptional=${!isRequired(name)} ...${field(name)} />`)}
      <fieldset class="choices">
        <legend>Added with</legend>
        <label><input type="radio" name="sender" checked=${isOperator} onChange=${choose(true)} /> the rights of the operator</label>
        <label><input type="radio" name="sender" checked=${!isOperator} onChange=${choose(false)} /> a token, as a client</label>
      </fieldset>
      ${
        !isOperator &&
        html`<${TextField}
          label="Token"
          name="token"
          type="password"
          placeholder="pst_…"
          value=${token}
          error=${errors.token ?? ""}
          onText=${(text: string) => {
            clearError("token");
            onToken(text.trim());
          }}
        />`
      }
      <div role="status">
        ${response?.status === 200 && html`<p class="response ok">${successText(sent)}</p>`}
      </div>
      ${response !== null && html`<${ExactResponse} ...${response} />`}
    <//>
  `;
}

function ExactResponse({ status, headers, body }: CreateResponse) {
  const code = parseBody({ body }).error;
  return html`
    <details class="exact">
      <summary>Response of the interface: ${status}${code === undefined ? "" : `, error ${code}`}</summary>
      <pre tabindex="0" aria-label="Response">HTTP ${status}${"\n"}${headers.map(([name, value]) => `${name}: ${value}\n`).join("")}${"\n"}<bdi>${body}</bdi></pre>
    </details>
  `;
}

/** An Error of the interface, or a plant. */
function parseBody({ body }: { body: string }): { error?: number; message?: string } {
  return JSON.parse(body);
}

function successText({ id = "", name = "" }: Draft) {
  return html`Plant ${id.trim()}, ${untrustedText(name)}, is stored.${" "}<span class="faint">Sent again, it changes nothing.</span>`;
}

/** The error of each field, in words for people; none for an error that is not about a field. */
function explain(response: CreateResponse, { id = "", ...texts }: Draft): FieldErrors {
  const { error } = parseBody(response);
  if (error === 40009) return { id: `Another plant with the id ${id.trim()} is stored. Choose another id.` };
  if (error === 40100 || error === 40101)
    return {
      token: "This token is not accepted: it is unknown, revoked or expired.",
    };
  if (error !== 40001 && error !== 40002 && error !== 40003) return {};
  const found = [
    ["id", idError(id)],
    ...Object.entries(texts).map(([field, text]) => [field, textError(text)]),
  ];
  return Object.fromEntries(found.filter(([, text]) => text !== undefined));
}

function idError(text: string) {
  const id = text.trim();
  if (id === "") return "Enter an id: a whole number, such as 42.";
  if (!/^-?\d+$/.test(id)) return "An id is a whole number, without letters, spaces or a decimal point.";
  if (/^-?0\d/.test(id)) return `An id has no leading zero: ${BigInt(id)}.`;
  if (parseInt64(id) === undefined)
    return "Ids are from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807.";
  return undefined;
}

function textError(text: string) {
  if (text.includes("\0")) return "The character U+0000 cannot be stored; remove it.";
  if (!text.isWellFormed()) return "It ends in half of a character; remove the last one.";
  return undefined;
}

/** The JSON text of a NewPlant, with the digits of the id as typed. */
function newPlantJson({ id = "", ...texts }: Draft) {
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(id.trim());
  const present = fieldNames.filter(
    (field) => texts[field] !== "" || (isRequired(field) && typeOf(field).parse("") !== undefined),
  );
  // The server rejects a text that is not of the type, and says what is expected.
  const jsonValue = (field: FieldName, text: string) => {
    const value = typeOf(field).parse(text);
    return value === undefined ? text : typeOf(field).toJson(value);
  };
  return JSON.stringify({
    id: isNumber ? JSON.rawJSON(id.trim()) : id,
    ...Object.fromEntries(present.map((field) => [field, jsonValue(field, texts[field] ?? "")])),
  });
}
