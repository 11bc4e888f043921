// The HTML of the documentation page, made from the description of the interface: for each operation
// a form that sends it, samples, and the reference.

import packageJson from "../../package.json";
import { iconPath } from "../product.ts";
import { type Described, placeholder, type Schema } from "./described-operations.ts";
import { escapeUrl } from "./openapi-documents.ts";

type Table<Value> = Readonly<Record<string, Value>>;

interface Content {
  readonly "application/json": {
    readonly schema?: Schema;
    readonly examples?: Table<{ readonly summary: string; readonly value: unknown }>;
  };
}

interface DescribedResponse extends Described {
  readonly content?: Content;
}

interface DescribedParameter extends Described {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly DescribedParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Table<DescribedResponse>;
  readonly "x-codeSamples"?: readonly { readonly label: string; readonly source: string }[];
}

interface PlacedOperation extends DescribedOperation {
  readonly method: string;
  readonly path: string;
}

interface Description {
  readonly openapi: string;
  readonly info: Record<"title" | "version" | "description", string> & { license: { name: string } };
  readonly paths: Table<Table<DescribedOperation>>;
  readonly components: {
    readonly schemas: Table<Schema>;
    readonly responses: Table<DescribedResponse>;
  };
}

const { escapeHTML } = Bun;

const icon = `%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' d='${iconPath}'/%3E%3C/svg%3E`;

const leaf = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${iconPath}"/></svg>`;

/** Where a page is served. */
interface Place {
  /** "" or a path with a slash at its end, before every relative link. */
  readonly prefix: string;
  /** The base address of the server. */
  readonly url: string;
}

/** Makes the pages of a description, each one document without inline scripts and styles. */
export function documentationOf(description: object): (place: Place) => string {
  const { openapi, info, paths, components } = description as Description;
  const [operation, ...others] = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ ...each, method: method.toUpperCase(), path })),
  );
  if (operation === undefined) throw new Error("The description has no operation");

  /** The first paragraph is the page's; each heading after it begins a section. */
  const [introduction = "", ...chapters] = info.description.split(/^## /m);
  const [lead = "", ...notes] = introduction.split("\n\n");
  const about = section("About", markdown([operation.description, ...notes].join("\n\n")));

  // The parts that are the same at every address are made once: they take ten times the rest.
  const fields = section("Fields", renderSchemas(components.schemas));
  const responses = section("Responses", renderResponses(operation, "", components));
  const references = others.map((other) => ({
    other,
    html: `${renderParameters(other)}<h3>Responses</h3>${renderResponses(other, `${other.operationId}-`, components)}`,
  }));
  const ends = chapters.map(renderChapter).join("");
  const navigation = renderNavigation([
    "Samples",
    "Fields",
    "Responses",
    ...others.map(titleOfOperation),
    ...chapters.map(titleOf),
    "About",
  ]);

  return ({ prefix, url }) => {
    const link = (path: string) => escapeHTML(prefix + path);
    const samples = `<p>Each is complete, and reads the token from the environment: <code>export ACCESS_TOKEN=<var class="token">…</var></code></p>
          ${renderSamples(operation, url)}`;
    const sections = references.map(({ other, html }) =>
      section(
        titleOfOperation(other),
        markdown(`${other.summary}. ${other.description}`) +
          renderForm(other, { prefix, url }, false) +
          renderSamples(other, url) +
          html,
      ),
    );
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
        <li>OpenAPI <b>${escapeHTML(openapi)}</b></li>
      </ul>
      <p>${escapeHTML(lead)}</p>
    </header>
    <main>
      <section aria-labelledby="try">${renderForm(operation, { prefix, url }, true)}</section>
      <div class="reference">
        ${navigation}
        <div class="sections">
          ${section("Samples", samples)}
          ${fields}${responses}${sections.join("")}${ends}
          ${withDocumentLinks(about, prefix)}
        </div>
      </div>
    </main>
    <footer>${escapeHTML(info.title)} · ${escapeHTML(info.license.name)} licence</footer>
  </body>
</html>
`;
  };
}

/**
 * A form that sends a request, and its response. The first one comes first in the document, so that a
 * few presses of Tab reach its button, and has the token of all.
 */
function renderForm(operation: PlacedOperation, { prefix, url }: Place, isFirst: boolean): string {
  const { operationId, method, path, summary } = operation;
  const response = isFirst ? "response" : `${operationId}-response`;
  const heading = isFirst ? "h2" : "h3";
  const title = isFirst ? "Response" : `Response to ${escapeHTML(operationId)}`;
  return `<div class="try">
        <form class="card" data-method="${method}" data-action="${escapeHTML(prefix + path.slice(1))}" data-response="${response}">
          ${isFirst ? `<h2 id="try">${escapeHTML(summary)}</h2>` : "<h3>Try it</h3>"}
          <p class="operation"><span class="method">${method}</span> <code>${escapeHTML(url + path)}</code></p>
          ${isFirst ? tokenInput : '<p class="note">Sent with the <a href="#token">bearer token</a> of the first form.</p>'}
          ${renderInputs(operation)}
        </form>
        <section id="${response}" class="card response" aria-labelledby="${response}-title" aria-live="polite">
          <${heading} id="${response}-title">${title}</${heading}>
          <p class="empty">The status, the headers and the body appear here.</p>
        </section>
        ${isFirst ? '<noscript><p class="card">The form needs JavaScript; curl sends the same request.</p></noscript>' : ""}
      </div>`;
}

const tokenInput = `<label for="token">Bearer token</label>
          <div class="token">
            <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="&lt;ACCESS_TOKEN&gt;" aria-describedby="token-note">
            <button type="button" id="show" aria-pressed="false">Show</button>
          </div>
          <p class="note" id="token-note">Kept in this page only. Left empty, the request is rejected with 40100.</p>`;

/** The inputs of the parameters and the body, and the button. */
function renderInputs({ operationId, parameters = [], requestBody }: PlacedOperation): string {
  const inputs = parameters.map(({ name, in: place, required, schema }) => {
    const id = escapeHTML(`${operationId}-${name}`);
    const placeholder =
      schema.default === undefined ? "" : ` placeholder="${escapeHTML(String(schema.default))}"`;
    return `<label for="${id}">${escapeHTML(name)} <span class="note">${place}${required ? "" : ", optional"}</span></label>
          <input id="${id}" name="${escapeHTML(name)}" data-in="${place}"${required ? " required" : ""}${placeholder} autocomplete="off" spellcheck="false">`;
  });
  const { examples = {} } = requestBody?.content["application/json"] ?? {};
  const body = `<label for="${operationId}-body">Body <span class="note">application/json</span></label>
          <textarea id="${operationId}-body" name="body" rows="5" spellcheck="false" autocapitalize="off">${escapeHTML(JSON.stringify(Object.values(examples)[0]?.value ?? {}, null, 2))}</textarea>`;
  return `${inputs.join("")}
          ${requestBody === undefined ? "" : body}
          <div class="actions"><button type="submit" class="send">Send request</button>${requestBody === undefined ? "" : ' <span class="note">or Ctrl+Enter in the body</span>'}</div>`;
}

function renderNavigation(titles: readonly string[]): string {
  const items = titles.map((title) => `<li><a href="#${idOf(title)}">${escapeHTML(title)}</a></li>`);
  return `<nav aria-label="Sections"><ul>${items.join("")}</ul></nav>`;
}

function renderSamples({ operationId, "x-codeSamples": samples = [] }: PlacedOperation, url: string): string {
  const rendered = samples.map(({ label, source }, index) => {
    const code = escapeHTML(source.replaceAll(placeholder, () => escapeUrl(url)).trimEnd());
    return `<details name="${escapeHTML(operationId)}-sample"${index === 0 ? " open" : ""}>
            <summary>${escapeHTML(label)}</summary>
            <pre><code>${code}</code></pre>
          </details>`;
  });
  return `<div class="code-samples">${rendered.join("")}</div>`;
}

function renderParameters({ parameters = [] }: PlacedOperation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required = false, schema, description = "" }) =>
    renderRow({ name, schema, isRequired: required, text: description, note: `in the ${place}` }),
  );
  return `<h3>Parameters</h3>${renderTable("Parameter", rows)}`;
}

function renderSchemas(schemas: Table<Schema>): string {
  return Object.entries(schemas)
    .map(([name, schema]) => {
      // The fields that a schema adds to another one come first: the id of a NewPlant.
      const parts = [schema, ...(schema.allOf ?? [])]
        .map((part) => schemas[nameOf(part)] ?? part)
        .toReversed();
      const required = parts.flatMap((part) => part.required ?? []);
      const rows = parts
        .flatMap((part) => Object.entries(part.properties ?? {}))
        .map(([field, property]) =>
          renderRow({
            name: field,
            schema: property,
            isRequired: required.includes(field),
            text: property.description ?? "",
          }),
        );
      const type = `<p class="note">${escapeHTML(describeType(schema))}</p>`;
      return `<h3>${escapeHTML(name)}</h3>${markdown(schema.description ?? "")}${rows.length === 0 ? type : renderTable("Field", rows)}`;
    })
    .join("");
}

function renderTable(subject: string, rows: readonly string[]): string {
  return `<table><thead><tr><th scope="col">${subject}</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

interface Row {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly text: string;
  readonly note?: string;
}

function renderRow({ name, schema, isRequired, text, note }: Row): string {
  const { format, minimum, maximum, default: value, examples = [] } = schema;
  const json = (member: unknown) => `<code>${escapeHTML(JSON.stringify(member))}</code>`;
  const notes = [
    ...(note === undefined ? [] : [note]),
    ...(minimum === undefined || maximum === undefined ? [] : [`from ${minimum} to ${maximum}`]),
    ...(value === undefined ? [] : [`${json(value)} if absent`]),
    ...(examples.length === 0 ? [] : [`such as ${json(examples[0])}`]),
  ].join(", ");
  const noted = notes.charAt(0).toUpperCase() + notes.slice(1);
  return `<tr>
              <th scope="row"><code>${escapeHTML(name)}</code></th>
              <td data-title="Type">${escapeHTML(describeType(schema))}${format === undefined ? "" : ` <span class="note">${escapeHTML(format)}</span>`}<br>${isRequired ? "required" : '<span class="note">optional</span>'}</td>
              <td data-title="Meaning">${markdown(text)}${notes === "" ? "" : `<p class="note">${noted}</p>`}</td>
            </tr>`;
}

/** Such as "string", "NewPlant" or "array of Plant". */
function describeType(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema);
  if (schema.type !== "array") return schema.type ?? "";
  return schema.items === undefined ? "array" : `array of ${describeType(schema.items)}`;
}

/** @param prefix before each id, which is unique in the page. */
function renderResponses(
  { responses }: DescribedOperation,
  prefix: string,
  components: Description["components"],
): string {
  return Object.entries(responses)
    .map(([status, response]) => {
      const { description: text = "", content } = components.responses[nameOf(response)] ?? response;
      const [summary = "", ...rest] = text.split("\n\n");
      const { schema, examples = {} } = content?.["application/json"] ?? {};
      const bodies = Object.values(examples).map(
        (example) => `<p class="note">${escapeHTML(example.summary)}</p>
            <pre><code>${escapeHTML(JSON.stringify(example.value, null, 2))}</code></pre>`,
      );
      const type =
        schema === undefined || bodies.length > 0
          ? ""
          : `<p class="note">Body: <code>${escapeHTML(describeType(schema))}</code></p>`;
      return `<details id="${prefix}status-${status}">
            <summary><span class="status ${classOf(status)}">${escapeHTML(status)}</span> <span>${inline(summary)}</span></summary>
            ${markdown(rest.join("\n\n"))}${type}${bodies.join("")}
          </details>`;
    })
    .join("");
}

function titleOfOperation({ method, path }: PlacedOperation): string {
  return `${method} ${path}`;
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
