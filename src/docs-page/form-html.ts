// Renders the forms of the page, which send requests.

import { capitalized } from "../contract/words.ts";
import { examplesOf, isIdempotencyKey, jsonMedia } from "./description.ts";
import type { PlacedOperation } from "./placed-operations.ts";
import { prefixPlaceholder, placeholder as serverUrl } from "./server-address.ts";

const { escapeHTML } = Bun;

/**
 * A form that sends a request, and shows its response. The first form is at the start of the
 * document, so that a few presses of Tab reach its button.
 *
 * @param tokens the input of the token of all forms; undefined if this is not the first.
 */
export function renderForm(operation: PlacedOperation, tokens?: string): string {
  const isFirst = tokens !== undefined;
  const { id, operationId, method, path, summary, field } = operation;
  const [name = "", tokenPrefix = ""] = field ?? [];
  const response = isFirst ? "response" : `${id}-response`;
  const heading = isFirst ? "h2" : "h3";
  const title = isFirst ? "Response" : `Response to ${escapeHTML(operationId)}`;
  return `<div class="try">
        <form class="card" data-method="${method}" data-action="${prefixPlaceholder + escapeHTML(path.slice(1))}" data-response="${response}" data-token-field="${name}" data-token-prefix="${tokenPrefix}">
          ${isFirst ? `<h2 id="try">${escapeHTML(summary)}</h2>` : "<h3>Try it</h3>"}
          <p class="operation"><span class="method">${method}</span> <code>${escapeHTML(serverUrl + path)}</code></p>
          ${tokens ?? tokenNote(operation)}
          ${renderInputs(operation)}
        </form>
        <section id="${response}" class="card response" aria-labelledby="${response}-title" aria-live="polite">
          <${heading} id="${response}-title">${title}</${heading}>
          <p class="empty">The status, the headers and the body appear here.</p>
        </section>
        ${isFirst ? '<noscript><p class="card">The form needs JavaScript; curl sends the same request.</p></noscript>' : ""}
      </div>`;
}

function tokenName({ field }: PlacedOperation): string {
  return field?.[1] === "" ? "API key" : "bearer token";
}

function tokenNote(operation: PlacedOperation): string {
  if (operation.field === undefined) return "";
  return `<p class="note">Sent with the <a href="#token">${tokenName(operation)}</a> of the first form.</p>`;
}

export function tokenInput(operation: PlacedOperation | undefined): string {
  if (operation === undefined) return "";
  return `<label for="token">${capitalized(tokenName(operation))}</label>
          <div class="token">
            <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="&lt;ACCESS_TOKEN&gt;" aria-describedby="token-note">
            <button type="button" id="show" aria-pressed="false">Show</button>
          </div>
          <p class="note" id="token-note">Kept in this page only. Left empty, the request is rejected with 40100.</p>`;
}

/** The inputs of the parameters and the body, and the button. */
function renderInputs({ id: prefix, parameters = [], requestBody }: PlacedOperation): string {
  const sent = parameters.filter(
    ({ in: place, name }) =>
      place === "path" || place === "query" || (place === "header" && isIdempotencyKey(name)),
  );
  const inputs = sent.map(({ name, in: place, required, schema }) => {
    const id = escapeHTML(`${prefix}-${name}`);
    const placeholder =
      schema?.default === undefined ? "" : ` placeholder="${escapeHTML(String(schema.default))}"`;
    return `<label for="${id}">${escapeHTML(name)} <span class="note">${place}${required ? "" : ", optional"}</span></label>
          <input id="${id}" name="${escapeHTML(name)}" data-in="${place}"${required ? " required" : ""}${placeholder} autocomplete="off" spellcheck="false">`;
  });
  const [example] = examplesOf(jsonMedia(requestBody?.content)?.[1] ?? {});
  const body = `<label for="${prefix}-body">Body <span class="note">application/json</span></label>
          <textarea id="${prefix}-body" name="body" rows="5" spellcheck="false" autocapitalize="off">${escapeHTML(JSON.stringify(example?.value ?? {}, null, 2))}</textarea>`;
  return `${inputs.join("")}
          ${requestBody === undefined ? "" : body}
          <div class="actions"><button type="submit" class="send">Send request</button>${requestBody === undefined ? "" : ' <span class="note">or Ctrl+Enter in the body</span>'}</div>`;
}
