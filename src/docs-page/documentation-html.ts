// Renders the documentation page from the description of the interface: for each operation a form
// that sends it, samples, and the reference.

import packageJson from "../../package.json";
import type { Contract } from "../contract/contract.ts";
import { capitalized } from "../contract/words.ts";
import { type Description, firstLineOf } from "./description.ts";
import { renderForm, tokenInput } from "./form-html.ts";
import { markdown } from "./markdown.ts";
import { type OperationGroup, operationGroups, type PlacedOperation } from "./placed-operations.ts";
import { renderResponses } from "./response-html.ts";
import { renderParameters, renderSchemas } from "./schema-html.ts";
import { escapeUrl, placeholder, prefixPlaceholder } from "./server-address.ts";

/** A part of the page with a heading, to which the navigation links. */
interface Section {
  readonly title: string;
  readonly html: string;
  /** Those of one collection, where there are several. */
  readonly below?: readonly Section[];
}

/** Where a page is served. */
interface Place {
  /** "" or a path with a slash at its end, before every relative link. */
  readonly prefix: string;
  /** The base address of the server. */
  readonly url: string;
}

const { escapeHTML } = Bun;

/** The icon of the product in a square of 16 units. The console's is src/console/page/icon.svg. */
const iconPath = "M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z";

const icon = `%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' d='${iconPath}'/%3E%3C/svg%3E`;

const leaf = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${iconPath}"/></svg>`;

/**
 * Makes the pages of a description, each one document without inline scripts and styles. They differ
 * in the addresses only.
 */
export function documentationOf(contract: Contract, description: Description): (place: Place) => string {
  const template = renderPage(contract, description);
  return ({ prefix, url }) =>
    template
      .replaceAll(prefixPlaceholder, () => escapeHTML(prefix))
      .replaceAll(placeholder, () => escapeHTML(escapeUrl(url)));
}

function renderPage(contract: Contract, description: Description): string {
  const { openapi, info } = description;
  const groups = operationGroups(contract, description);
  const operations = groups.flatMap((group) => group.operations);
  const [operation] = operations;
  /** The operation whose kind of token the page asks for. */
  const withToken = operations.find(({ field }) => field !== undefined);
  const parts = groups.map((group) =>
    sectionsOf(group, description, group.operations[0] === operation ? { withToken } : undefined),
  );

  /** The first paragraph is the page's; each heading after it begins a section. */
  const [introduction = "", ...chapters] = info.description.split(/^## /m);
  const [lead = "", ...notes] = introduction.split("\n\n");
  const first = operation?.description ?? "";
  const isGrouped = groups.length > 1;
  const sections: readonly Section[] = [
    ...(isGrouped
      ? groups.map((group, index) => groupSection(group, index === 0 ? first : "", parts[index] ?? []))
      : parts.flat()),
    ...chapters.map((chapter) => ({ title: firstLineOf(chapter), html: renderChapter(chapter) })),
    {
      title: "About",
      html: withDocumentLinks(markdown([...(isGrouped ? [] : [first]), ...notes].join("\n\n"))),
    },
  ];
  const taken = new Set(["response", "response-title", "show", "token", "token-note", "try"]);
  const placed = sections.map((section) => placeSection(section, taken));
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeHTML(info.title)}</title>
    <link rel="icon" href="data:image/svg+xml,${icon}">
    <link rel="stylesheet" href="${prefixPlaceholder}docs/style.css">
    <script src="${prefixPlaceholder}docs/page.js" defer></script>
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
      ${operation === undefined ? "" : `<section aria-labelledby="try">${renderForm(operation, tokenInput(withToken))}</section>`}
      <div class="reference">
        <nav aria-label="Sections"><ul>${placed.map(({ link }) => link).join("")}</ul></nav>
        <div class="sections">
          ${placed.map(({ html }) => html).join("")}
        </div>
      </div>
    </main>
    <footer>${escapeHTML([info.title, ...(info.license === undefined ? [] : [`${info.license.name} licence`])].join(" · "))}</footer>
  </body>
</html>
`;
}

/**
 * The sections of a group of operations.
 *
 * @param atStart given for the group whose first operation has its form at the start of the page.
 */
function sectionsOf(
  group: OperationGroup,
  description: Description,
  atStart: { readonly withToken: PlacedOperation | undefined } | undefined,
): Section[] {
  const { components } = description;
  const [first, ...others] = group.operations;
  const fields = { title: "Fields", html: renderSchemas(group, description) };
  const operationSection = (operation: PlacedOperation, text?: string) => ({
    title: `${operation.method} ${operation.path}`,
    html: `${markdown(text ?? `${operation.summary}. ${operation.description}`)}${renderForm(operation)}${renderSamples(operation)}${renderParameters(operation)}<h3>Responses</h3>${renderResponses(operation, `${operation.id}-`, components)}`,
  });
  const rest = others.map((each) => operationSection(each));
  // The description of a create repeats its summary.
  if (atStart === undefined)
    return [operationSection(first, group.collection && first.description), fields, ...rest];
  const withExport =
    ', and reads the token from the environment: <code>export ACCESS_TOKEN=<var class="token">…</var></code>';
  const samples = {
    title: "Samples",
    html: `<p>Each is complete${atStart.withToken === undefined ? "." : withExport}</p>
          ${renderSamples(first)}`,
  };
  return [
    ...(first["x-codeSamples"] === undefined ? [] : [samples]),
    fields,
    { title: "Responses", html: renderResponses(first, "", components) },
    ...rest,
  ];
}

/** A section with those of a collection, below a text. */
function groupSection({ collection }: OperationGroup, text: string, below: readonly Section[]): Section {
  return { title: capitalized(collection?.words.many ?? "other operations"), html: markdown(text), below };
}

/**
 * The HTML of a section, and its link in the navigation.
 *
 * @param taken the ids of headings and forms so far.
 */
function placeSection(
  { title, html, below = [] }: Section,
  taken: Set<string>,
): { readonly html: string; readonly link: string } {
  const id = newId(title, taken);
  const placed = below.map((section) => placeSection(section, taken));
  // Those of a collection are no landmarks: several have the same name.
  const inner = placed.map((each) => demoted(each.html).replace(/^<section [^>]*>/, "<section>"));
  const links = placed.length === 0 ? "" : `<ul>${placed.map(({ link }) => link).join("")}</ul>`;
  return {
    html: `<section aria-labelledby="${id}"><h2 id="${id}">${escapeHTML(title)}</h2>${html}${inner.join("")}</section>`,
    link: `<li><a href="#${id}">${escapeHTML(title)}</a>${links}</li>`,
  };
}

/** HTML whose headings are one level lower. */
function demoted(html: string): string {
  return html.replaceAll(/(<\/?h)([2-5])\b/g, (_, start, level) => `${start}${Number(level) + 1}`);
}

function renderSamples({ id, "x-codeSamples": samples }: PlacedOperation): string {
  // An author's own samples may have any shape.
  const shown = (Array.isArray(samples) ? samples : []).filter((each) => typeof each?.source === "string");
  const rendered = shown.map(({ label, lang, source }, index) => {
    const code = escapeHTML(source.trimEnd());
    return `<details name="${escapeHTML(id)}-sample"${index === 0 ? " open" : ""}>
            <summary>${escapeHTML(String(label ?? lang))}</summary>
            <pre><code>${code}</code></pre>
          </details>`;
  });
  return `<div class="code-samples">${rendered.join("")}</div>`;
}

/** The text below a heading of the description. Rows of error codes can be linked to. */
function renderChapter(chapter: string): string {
  return markdown(chapter.slice(firstLineOf(chapter).length)).replaceAll(
    /<tr><td>(\d{5})<\/td><td>(.*?)<\/td><td>(.*?)<\/td><\/tr>/g,
    '<tr id="error-$1"><th scope="row"><code>$1</code></th><td data-title="Meaning">$2</td><td data-title="What to do">$3</td></tr>',
  );
}

/** The id of a heading: each is another one, and none is that of a form. */
function newId(title: string, taken: Set<string>): string {
  const wanted = title.toLowerCase().replaceAll(/[^a-z\d]+/g, "-");
  let id = wanted;
  for (let count = 2; taken.has(id); count++) id = `${wanted}-${count}`;
  taken.add(id);
  return id;
}

function withDocumentLinks(html: string): string {
  return html.replaceAll(
    /<code>(openapi[\w.-]*\.(?:json|yaml))<\/code>/g,
    (_, name) => `<a href="${prefixPlaceholder}${name}">${name}</a>`,
  );
}
