// The HTML of the documentation page, made from the description of the interface: for each
// operation a form that sends it, samples, and the reference.

import packageJson from "../../package.json";
import { iconPath } from "../admin-pages/icon.ts";
import type { Contract } from "../core/contract/contract.ts";
import { readSecurity, tokenField } from "../core/contract/security.ts";
import { isStorablePattern } from "../core/contract/text-schemas.ts";
import {
  type DescribedOperation,
  type DescribedParameter,
  type Description,
  examplesOf,
  jsonMedia,
  nameOf,
  parametersOf,
  type Schema,
} from "./description.ts";
import { withAddress } from "./server-address.ts";

type Table<Value> = Readonly<Record<string, Value>>;

interface PlacedOperation extends DescribedOperation {
  readonly method: string;
  readonly path: string;
  /** The start of the ids of its elements. */
  readonly id: string;
  /** The header field of the token; undefined where none is needed. */
  readonly field: ReturnType<typeof tokenField>;
}

/** A part of the page with a heading, to which the navigation links. */
interface Section {
  readonly title: string;
  readonly html: (place: Place) => string;
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
export function documentationOf(contract: Contract, description: Description): (place: Place) => string {
  const { openapi, info, components } = description;
  const [operation, ...others] = servedOperations(contract, description);
  /** The operation whose kind of token the page asks for. */
  const withToken = [operation, ...others].find((each) => each?.field !== undefined);
  if (operation === undefined) throw new Error("The description has no operation");

  /** The first paragraph is the page's; each heading after it begins a section. */
  const [introduction = "", ...chapters] = info.description.split(/^## /m);
  const [lead = "", ...notes] = introduction.split("\n\n");
  const about = markdown([operation.description, ...notes].join("\n\n"));

  // The parts that are the same at every address are made once: they take ten times the rest.
  const fields = renderSchemas(shownSchemas(contract, [operation, ...others], description), components);
  const responses = renderResponses(operation, "", components);
  const sections: readonly Section[] = [
    {
      title: "Samples",
      html: ({ url }) =>
        `<p>Each is complete${withToken === undefined ? "." : ', and reads the token from the environment: <code>export ACCESS_TOKEN=<var class="token">…</var></code>'}</p>
          ${renderSamples(operation, url)}`,
    },
    { title: "Fields", html: () => fields },
    { title: "Responses", html: () => responses },
    ...others.map((other) => {
      const start = markdown(`${other.summary}. ${other.description}`);
      const end = `${renderParameters(other)}<h3>Responses</h3>${renderResponses(other, `${other.id}-`, components)}`;
      const html = (place: Place) => start + renderForm(other, place) + renderSamples(other, place.url) + end;
      return { title: titleOfOperation(other), html };
    }),
    ...chapters.map((chapter) => {
      const html = renderChapter(chapter);
      return { title: titleOf(chapter), html: () => html };
    }),
    { title: "About", html: ({ prefix }) => withDocumentLinks(about, prefix) },
  ];
  const ids = idsOf(sections.map(({ title }) => title));
  const navigation = renderNavigation(sections, ids);

  return ({ prefix, url }) => {
    const link = (path: string) => escapeHTML(prefix + path);
    const rendered = sections.map(
      ({ title, html }, index) =>
        `<section aria-labelledby="${ids[index]}"><h2 id="${ids[index]}">${escapeHTML(title)}</h2>${html({ prefix, url })}</section>`,
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
      <section aria-labelledby="try">${renderForm(operation, { prefix, url }, tokenInput(withToken))}</section>
      <div class="reference">
        ${navigation}
        <div class="sections">
          ${rendered.join("")}
        </div>
      </div>
    </main>
    <footer>${escapeHTML([info.title, ...(info.license === undefined ? [] : [`${info.license.name} licence`])].join(" · "))}</footer>
  </body>
</html>
`;
  };
}

/** The operations that are served, the create first. */
function servedOperations(
  { describedPath, others }: Contract,
  { paths, components, security }: Description,
): [PlacedOperation, ...PlacedOperation[]] | [] {
  const methods = ["get", "put", "post", "delete", "patch"];
  const toId = (operationId: string) => operationId.replaceAll(/[^\p{L}\d_.-]+/gu, "-");
  const all = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((name) => {
      const method = name.toUpperCase();
      const isServed = !others.some((each) => each.path === path && each.method === method);
      const operation = item[name];
      if (operation === undefined || !isServed) return [];
      const { operationId, parameters = [] } = operation;
      const all = [
        ...parametersOf(item).filter((each) => !parameters.some((own) => isSameParameter(own, each))),
        ...parameters,
      ];
      const { access } = readSecurity(
        operation.security ?? security,
        (name) => components.securitySchemes?.[name] as Record<string, unknown> | undefined,
      );
      return [
        { ...operation, method, path, id: toId(operationId), parameters: all, field: tokenField(access) },
      ];
    }),
  );
  const [create] = all.filter(({ method, path }) => method === "POST" && path === describedPath);
  return create === undefined ? [] : [create, ...all.filter((each) => each !== create)];
}

function isSameParameter(one: DescribedParameter, other: DescribedParameter): boolean {
  return one.name === other.name && one.in === other.in;
}

/** The schemas of the create that have no name of their own, and those that operations refer to. */
function shownSchemas(
  { words }: Contract,
  [create, ...others]: readonly [DescribedOperation, ...DescribedOperation[]],
  description: Description,
): (readonly [name: string, schema: Schema])[] {
  const { schemas, responses } = description.components;
  const success = Object.entries(create.responses).find(([status]) => status.startsWith("2"))?.[1];
  const returned = responses?.[nameOf(success ?? {})] ?? success;
  const inline = [
    [words.body, jsonMedia(create.requestBody?.content)?.[1].schema] as const,
    [words.one, jsonMedia(returned?.content)?.[1].schema] as const,
  ].flatMap(([name, schema]) =>
    schema === undefined || schema.$ref !== undefined ? [] : [[name, schema] as const],
  );
  const reachable = reachableFrom([create, ...others], description);
  return [...inline, ...Object.entries(schemas).filter(([name]) => reachable.has(name))];
}

/** The names of the schemas that operations refer to. */
function reachableFrom(operations: readonly object[], { components }: Description): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    const { $ref } = value as { readonly $ref?: unknown };
    if (typeof $ref === "string") {
      const name = nameOf({ $ref });
      if ($ref.startsWith("#/components/schemas/") && !names.has(name)) {
        names.add(name);
        visit(components.schemas[name]);
      } else if ($ref.startsWith("#/components/responses/")) visit(components.responses?.[name]);
    }
    for (const member of Object.values(value)) visit(member);
  };
  visit(operations);
  return names;
}

/**
 * A form that sends a request, and its response. The first one comes first in the document, so that
 * a few presses of Tab reach its button.
 *
 * @param tokens the input of the token of all forms; undefined if this is not the first.
 */
function renderForm(operation: PlacedOperation, { prefix, url }: Place, tokens?: string): string {
  const isFirst = tokens !== undefined;
  const { id, operationId, method, path, summary, field } = operation;
  const [name = "", tokenPrefix = ""] = field ?? [];
  const response = isFirst ? "response" : `${id}-response`;
  const heading = isFirst ? "h2" : "h3";
  const title = isFirst ? "Response" : `Response to ${escapeHTML(operationId)}`;
  return `<div class="try">
        <form class="card" data-method="${method}" data-action="${escapeHTML(prefix + path.slice(1))}" data-response="${response}" data-token-field="${name}" data-token-prefix="${tokenPrefix}">
          ${isFirst ? `<h2 id="try">${escapeHTML(summary)}</h2>` : "<h3>Try it</h3>"}
          <p class="operation"><span class="method">${method}</span> <code>${escapeHTML(url + path)}</code></p>
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

function tokenInput(operation: PlacedOperation | undefined): string {
  if (operation === undefined) return "";
  const name = tokenName(operation);
  return `<label for="token">${name.charAt(0).toUpperCase() + name.slice(1)}</label>
          <div class="token">
            <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="&lt;ACCESS_TOKEN&gt;" aria-describedby="token-note">
            <button type="button" id="show" aria-pressed="false">Show</button>
          </div>
          <p class="note" id="token-note">Kept in this page only. Left empty, the request is rejected with 40100.</p>`;
}

/** The inputs of the parameters and the body, and the button. */
function renderInputs({ id: prefix, parameters = [], requestBody }: PlacedOperation): string {
  const sent = parameters.filter(
    ({ in: place, name }) => place === "path" || place === "query" || isKey(place, name),
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

/** Whether a parameter is the header field by which a create can be sent again. */
function isKey(place: string, name: string): boolean {
  return place === "header" && /^idempotency-key$/i.test(name);
}

function renderNavigation(sections: readonly Section[], ids: readonly string[]): string {
  const items = sections.map(
    ({ title }, index) => `<li><a href="#${ids[index]}">${escapeHTML(title)}</a></li>`,
  );
  return `<nav aria-label="Sections"><ul>${items.join("")}</ul></nav>`;
}

function renderSamples({ id, "x-codeSamples": samples }: PlacedOperation, url: string): string {
  // An author's own samples may have any shape.
  const shown = (Array.isArray(samples) ? samples : []).filter((each) => typeof each?.source === "string");
  const rendered = shown.map(({ label, lang, source }, index) => {
    const code = escapeHTML(withAddress(source, url).trimEnd());
    return `<details name="${escapeHTML(id)}-sample"${index === 0 ? " open" : ""}>
            <summary>${escapeHTML(String(label ?? lang))}</summary>
            <pre><code>${code}</code></pre>
          </details>`;
  });
  return `<div class="code-samples">${rendered.join("")}</div>`;
}

function renderParameters({ parameters = [] }: PlacedOperation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required = false, schema, description = "" }) =>
    renderRow({
      name,
      schema: schema ?? {},
      isRequired: required,
      text: description,
      note: `in the ${place}`,
    }),
  );
  return `<h3>Parameters</h3>${renderTable("Parameter", rows)}`;
}

function renderSchemas(
  shown: readonly (readonly [name: string, schema: Schema])[],
  { schemas }: Description["components"],
): string {
  return shown
    .map(([name, schema]) => {
      const parts = partsOf(schema, schemas);
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

/**
 * A schema and those of its allOf. The fields that it adds to another one come first: the id of a
 * NewPlant.
 */
function partsOf(schema: Schema, schemas: Table<Schema>, depth = 0): Schema[] {
  const part = schemas[nameOf(schema)] ?? schema;
  const others = depth < 8 ? (part.allOf ?? []).map((each) => partsOf(each, schemas, depth + 1)) : [];
  return [...others.toReversed().flat(), part];
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
  const notes = [...(note === undefined ? [] : [note]), ...notesOf(schema)].join(", ");
  const noted = notes.charAt(0).toUpperCase() + notes.slice(1);
  const format = schema.format === undefined ? "" : ` <span class="note">${escapeHTML(schema.format)}</span>`;
  return `<tr>
              <th scope="row"><code>${escapeHTML(name)}</code></th>
              <td data-title="Type">${escapeHTML(describeType(schema))}${format}<br>${isRequired ? "required" : '<span class="note">optional</span>'}</td>
              <td data-title="Meaning">${markdown(text)}${notes === "" ? "" : `<p class="note">${noted}</p>`}</td>
            </tr>`;
}

/** The limits, the default and an example of a value, as HTML. */
function notesOf(schema: Schema): string[] {
  const json = (value: unknown) => `<code>${escapeHTML(JSON.stringify(value))}</code>`;
  const { enum: values, pattern, default: value, examples: [example = schema.example] = [] } = schema;
  const notes: string[] = [];
  const range = rangeOf(schema.minimum, schema.maximum);
  const length = rangeOf(schema.minLength, schema.maxLength);
  if (values !== undefined) notes.push(`one of ${values.map(json).join(", ")}`);
  if (range !== "") notes.push(range);
  if (length !== "") notes.push(`${length} characters`);
  if (pattern !== undefined && !isStorablePattern(pattern))
    notes.push(`matches <code>${escapeHTML(pattern)}</code>`);
  if (value !== undefined) notes.push(`${json(value)} if absent`);
  if (example !== undefined) notes.push(`such as ${json(example)}`);
  return notes;
}

function rangeOf(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined && maximum === undefined) return "";
  if (minimum === undefined) return `at most ${escapeHTML(String(maximum))}`;
  if (maximum === undefined) return `at least ${escapeHTML(String(minimum))}`;
  return `from ${escapeHTML(String(minimum))} to ${escapeHTML(String(maximum))}`;
}

/** Such as "string", "NewPlant" or "array of Plant". */
function describeType(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (schema.type === undefined && alternatives !== undefined)
    return alternatives.map(describeType).join(" or ");
  if (schema.type === undefined && (schema.properties ?? schema.allOf) !== undefined) return "object";
  if (schema.type !== "array") return [schema.type ?? "any"].flat().join(" or ");
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
      const { description: text = "", content } = components.responses?.[nameOf(response)] ?? response;
      const [summary = "", ...rest] = text.split("\n\n");
      const [, media = {}] = jsonMedia(content) ?? [];
      const { schema } = media;
      const bodies = examplesOf(media).map(
        (example) => `<p class="note">${escapeHTML(example.summary ?? "")}</p>
            <pre><code>${escapeHTML(JSON.stringify(example.value, null, 2))}</code></pre>`,
      );
      const type =
        schema === undefined || bodies.length > 0
          ? ""
          : `<p class="note">Body: <code>${escapeHTML(describeType(schema))}</code></p>`;
      return `<details id="${escapeHTML(`${prefix}status-${status}`)}">
            <summary><span class="status ${classOf(status)}">${escapeHTML(status)}</span> <span>${inline(summary)}</span></summary>
            ${markdown(rest.join("\n\n"))}${type}${bodies.join("")}
          </details>`;
    })
    .join("");
}

function titleOfOperation({ method, path }: PlacedOperation): string {
  return `${method} ${path}`;
}

/** The text below a heading of the description. Rows of error codes can be linked to. */
function renderChapter(chapter: string): string {
  return markdown(chapter.slice(titleOf(chapter).length)).replaceAll(
    /<tr><td>(\d{5})<\/td><td>(.*?)<\/td><td>(.*?)<\/td><\/tr>/g,
    '<tr id="error-$1"><th scope="row"><code>$1</code></th><td data-title="Meaning">$2</td><td data-title="What to do">$3</td></tr>',
  );
}

function titleOf(chapter: string): string {
  return chapter.split("\n", 1)[0] ?? "";
}

/** The ids of headings: each is another one, and none is that of a form. */
function idsOf(titles: readonly string[]): string[] {
  const taken = new Set(["response", "response-title", "show", "token", "token-note", "try"]);
  return titles.map((title) => {
    const wanted = title.toLowerCase().replaceAll(/[^a-z\d]+/g, "-");
    let id = wanted;
    for (let count = 2; taken.has(id); count++) id = `${wanted}-${count}`;
    taken.add(id);
    return id;
  });
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
