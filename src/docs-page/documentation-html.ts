// The HTML of the documentation page, made from openapi.yaml: a form that sends a create, samples,
// and the reference of all operations.

import openapi from "../../openapi.yaml";
import packageJson from "../../package.json";
import { iconPath } from "../product.ts";
import { escapeUrl, placeholder } from "./openapi-documents.ts";

/** A part of openapi.yaml: what the page shows of it. */
interface Described {
  readonly $ref?: string;
  readonly description?: string;
}

type Table<Value> = Readonly<Record<string, Value>>;

interface Field {
  readonly type: string;
  readonly format?: string;
  readonly description: string;
  readonly examples: readonly (string | number)[];
}

interface Schema extends Described {
  readonly allOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly properties?: Table<Field>;
}

interface DescribedResponse extends Described {
  readonly headers?: Table<Described>;
  readonly content?: {
    readonly "application/json": { readonly examples?: Table<{ summary: string; value: object }> };
  };
}

interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly responses: Table<DescribedResponse>;
}

interface DescribedCreate extends DescribedOperation {
  readonly requestBody: {
    readonly content: { readonly "application/json": { examples: { withTag: { value: object } } } };
  };
  readonly "x-codeSamples": readonly { label: string; source: string }[];
}

interface Description {
  readonly openapi: string;
  readonly info: Record<"title" | "version" | "description", string> & { license: { name: string } };
  readonly paths: { readonly "/plants": { readonly post: DescribedCreate } };
  readonly components: {
    readonly schemas: Table<Schema>;
    readonly headers: Table<Described>;
    readonly responses: Table<DescribedResponse>;
  };
}

const description = openapi as unknown as Description;
const { info, components } = description;
const operation = description.paths["/plants"].post;
const { escapeHTML } = Bun;

/** The titles and the descriptions of all operations but that of the form. */
const otherOperations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries<DescribedOperation>(methods)
    .filter(([, other]) => other !== operation)
    .map(([method, other]) => [`${method.toUpperCase()} ${path}`, other] as const),
);

const icon = `%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' d='${iconPath}'/%3E%3C/svg%3E`;

const leaf = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${iconPath}"/></svg>`;

/** The first paragraph is the page's; each heading after it begins a section. */
const [introduction = "", ...chapters] = info.description.split(/^## /m);
const [lead = "", ...notes] = introduction.split("\n\n");

/** The part that is the same at every address. Made once: it takes 0.5 ms, ten times the rest. */
const reference = [
  section("Fields", renderFields()),
  section("Responses", renderResponses(operation)),
  ...otherOperations.map(([title, other]) =>
    section(title, markdown(`${other.summary}. ${other.description}`) + renderResponses(other)),
  ),
  ...chapters.map(renderChapter),
].join("");
const about = section("About", markdown([operation.description, ...notes].join("\n\n")));
const navigation = renderNavigation();

/**
 * The page, as one document without inline scripts and styles.
 *
 * @param prefix "" or a path with a slash at its end, before every relative link.
 * @param url the base address of the server.
 */
export function renderDocumentation(prefix: string, url: string): string {
  const link = (path: string) => escapeHTML(prefix + path);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeHTML(info.title)}</title>
    <link rel="icon" href="data:image/svg+xml,${icon}">
    <link rel="stylesheet" href="${link("docs/style.css")}">
    <script src="${link("docs/page.js")}" defer></script>
  </head>
  <body>
    <header>
      <div class="name">${leaf}<h1>${escapeHTML(info.title)}</h1></div>
      <ul class="versions" aria-label="Versions">
        <li>Service <b>${escapeHTML(packageJson.version)}</b></li>
        <li>Contract <b>${escapeHTML(info.version)}</b></li>
        <li>OpenAPI <b>${escapeHTML(description.openapi)}</b></li>
      </ul>
      <p>${escapeHTML(lead)}</p>
    </header>
    <main>
      ${renderForm(link("plants"), url)}
      <div class="reference">
        ${navigation}
        <div class="sections">
          ${renderSamples(url)}
          ${reference}
          ${withDocumentLinks(about, prefix)}
        </div>
      </div>
    </main>
    <footer>${escapeHTML(info.title)} · ${escapeHTML(info.license.name)} licence</footer>
  </body>
</html>
`;
}

/** The fields come first in the document, so that a few presses of Tab reach the button. */
function renderForm(action: string, url: string): string {
  const example = operation.requestBody.content["application/json"].examples.withTag.value;
  const body = JSON.stringify(example, null, 2);
  return `<section class="try" aria-labelledby="try">
        <form id="request" data-action="${action}" class="card">
          <h2 id="try">${escapeHTML(operation.summary)}</h2>
          <p class="operation"><span class="method">POST</span> <code>${escapeHTML(url)}/plants</code></p>
          <label for="token">Bearer token</label>
          <div class="token">
            <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="&lt;ACCESS_TOKEN&gt;" aria-describedby="token-note">
            <button type="button" id="show" aria-pressed="false">Show</button>
          </div>
          <p class="note" id="token-note">Kept in this page only. Left empty, the request is rejected with 40100.</p>
          <label for="body">Body <span class="note">application/json</span></label>
          <textarea id="body" rows="5" spellcheck="false" autocapitalize="off">${escapeHTML(body)}</textarea>
          <div class="actions"><button type="submit" id="send">Send request</button> <span class="note">or Ctrl+Enter in the body</span></div>
        </form>
        <section id="response" class="card" aria-labelledby="response-title" aria-live="polite">
          <h2 id="response-title">Response</h2>
          <p class="empty">Send the request: the status, the headers and the body appear here. Sending the same plant again is 200 and changes nothing.</p>
        </section>
        <noscript><p class="card">The form needs JavaScript; curl sends the same request.</p></noscript>
      </section>`;
}

function renderNavigation(): string {
  const ofOperations = otherOperations.map(([title]) => title);
  const titles = ["Samples", "Fields", "Responses", ...ofOperations, ...chapters.map(titleOf), "About"];
  const items = titles.map((title) => `<li><a href="#${idOf(title)}">${escapeHTML(title)}</a></li>`);
  return `<nav aria-label="Sections"><ul>${items.join("")}</ul></nav>`;
}

function renderSamples(url: string): string {
  const samples = operation["x-codeSamples"].map(({ label, source }, index) => {
    const code = escapeHTML(source.replaceAll(placeholder, () => escapeUrl(url)).trimEnd());
    return `<details name="sample"${index === 0 ? " open" : ""}>
            <summary>${escapeHTML(label)}</summary>
            <pre><code>${code}</code></pre>
          </details>`;
  });
  return section(
    "Samples",
    `<p>Each is complete, and reads the token from the environment: <code>export ACCESS_TOKEN=…</code></p>
          <div id="code-samples">${samples.join("")}</div>`,
  );
}

function renderFields(): string {
  const { schemas } = components;
  return Object.entries(schemas)
    .map(([name, schema]) => {
      // The fields that a schema adds to another one come first: the id of a NewPlant.
      const parts = [schema, ...(schema.allOf ?? [])]
        .map((part) => schemas[nameOf(part)] ?? part)
        .toReversed();
      const required = parts.flatMap((part) => part.required ?? []);
      const fields = parts.flatMap((part) => Object.entries(part.properties ?? {}));
      const rows = fields.map(
        ([field, { type, format, description: text, examples }]) => `<tr>
              <th scope="row"><code>${escapeHTML(field)}</code></th>
              <td data-title="Type">${escapeHTML(type)}${format === undefined ? "" : ` <span class="note">${escapeHTML(format)}</span>`}<br>${required.includes(field) ? "required" : '<span class="note">optional</span>'}</td>
              <td data-title="Meaning">${markdown(text)}<p class="note">Such as <code>${escapeHTML(JSON.stringify(examples[0]))}</code></p></td>
            </tr>`,
      );
      return `<h3>${escapeHTML(name)}</h3>${markdown(schema.description ?? "")}
          <table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
    })
    .join("");
}

function renderResponses({ operationId, responses }: DescribedOperation): string {
  const prefix = operationId === operation.operationId ? "" : `${operationId}-`;
  return Object.entries(responses)
    .map(([status, response]) => {
      const {
        description: text = "",
        headers = {},
        content,
      } = components.responses[nameOf(response)] ?? response;
      const [summary = "", ...rest] = text.split("\n\n");
      const named = Object.values(content?.["application/json"].examples ?? {});
      const bodies = named.map(
        (example) => `<p class="note">${escapeHTML(example.summary)}</p>
            <pre><code>${escapeHTML(JSON.stringify(example.value, null, 2))}</code></pre>`,
      );
      const fields = Object.entries(headers).map(
        ([name, header]) =>
          `<dt><code>${escapeHTML(name)}</code></dt><dd>${markdown((components.headers[nameOf(header)] ?? header).description ?? "")}</dd>`,
      );
      return `<details id="${prefix}status-${status}">
            <summary><span class="status ${classOf(status)}">${escapeHTML(status)}</span> <span>${inline(summary)}</span></summary>
            ${markdown(rest.join("\n\n"))}${bodies.join("")}
            ${fields.length === 0 ? "" : `<h4>Headers</h4><dl>${fields.join("")}</dl>`}
          </details>`;
    })
    .join("");
}

/** A heading of the description with the text below it. Rows of error codes can be linked to. */
function renderChapter(chapter: string): string {
  const html = markdown(chapter.slice(titleOf(chapter).length)).replaceAll(
    /<tr><td>(\d{5})<\/td><td>(.*?)<\/td><td>(.*?)<\/td><\/tr>/g,
    '<tr id="error-$1"><th scope="row"><code>$1</code></th><td data-title="Meaning">$2</td><td data-title="What to do">$3</td></tr>',
  );
  return section(titleOf(chapter), html);
}

function section(title: string, html: string): string {
  return `<section aria-labelledby="${idOf(title)}"><h2 id="${idOf(title)}">${escapeHTML(title)}</h2>${html}</section>`;
}

function titleOf(chapter: string): string {
  return chapter.split("\n", 1)[0] ?? "";
}

function idOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z\d]+/g, "-");
}

function nameOf({ $ref = "" }: { readonly $ref?: string }): string {
  return $ref.split("/").at(-1) ?? "";
}

/** "ok", "client-error" or "server-error". */
function classOf(status: string): string {
  if (status.startsWith("2")) return "ok";
  return status.startsWith("5") ? "server-error" : "client-error";
}

function markdown(text: string): string {
  return Bun.markdown.html(text, { noHtmlBlocks: true, noHtmlSpans: true });
}

function inline(text: string): string {
  return markdown(text)
    .trim()
    .replaceAll(/^<p>|<\/p>$/g, "");
}

function withDocumentLinks(html: string, prefix: string): string {
  return html.replaceAll(
    /<code>(openapi[\w.-]*\.(?:json|yaml))<\/code>/g,
    (_, name) => `<a href="${escapeHTML(prefix)}${name}">${name}</a>`,
  );
}
