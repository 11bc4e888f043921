// The HTML of the documentation page, made from the description of the interface: for each
// operation a form that sends it, samples, and the reference.

import packageJson from "../../package.json";
import { iconPath } from "../admin-pages/icon.ts";
import { type Contract, onlyCollection } from "../core/contract/contract.ts";
import { type Description, firstLineOf } from "./description.ts";
import { renderForm, tokenInput } from "./form-html.ts";
import { markdown } from "./markdown.ts";
import { type PlacedOperation, placedOperations } from "./placed-operations.ts";
import { renderResponses } from "./response-html.ts";
import { renderParameters, renderSchemas } from "./schema-html.ts";
import { escapeUrl, placeholder, prefixPlaceholder } from "./server-address.ts";

/** A part of the page with a heading, to which the navigation links. */
interface Section {
  readonly title: string;
  readonly html: string;
}

/** Where a page is served. */
interface Place {
  /** "" or a path with a slash at its end, before every relative link. */
  readonly prefix: string;
  /** The base address of the server. */
  readonly url: string;
}

const { escapeHTML } = Bun;

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
  const { openapi, info, components } = description;
  const [operation, ...others] = placedOperations(contract, description);
  /** The operation whose kind of token the page asks for. */
  const withToken = [operation, ...others].find((each) => each?.field !== undefined);
  if (operation === undefined) throw new Error("The description has no operation");

  /** The first paragraph is the page's; each heading after it begins a section. */
  const [introduction = "", ...chapters] = info.description.split(/^## /m);
  const [lead = "", ...notes] = introduction.split("\n\n");
  const withExport =
    ', and reads the token from the environment: <code>export ACCESS_TOKEN=<var class="token">…</var></code>';
  const sections: readonly Section[] = [
    {
      title: "Samples",
      html: `<p>Each is complete${withToken === undefined ? "." : withExport}</p>
          ${renderSamples(operation)}`,
    },
    { title: "Fields", html: renderSchemas(onlyCollection(contract), [operation, ...others], description) },
    { title: "Responses", html: renderResponses(operation, "", components) },
    ...others.map((other) => ({
      title: `${other.method} ${other.path}`,
      html: `${markdown(`${other.summary}. ${other.description}`)}${renderForm(other)}${renderSamples(other)}${renderParameters(other)}<h3>Responses</h3>${renderResponses(other, `${other.id}-`, components)}`,
    })),
    ...chapters.map((chapter) => ({ title: firstLineOf(chapter), html: renderChapter(chapter) })),
    { title: "About", html: withDocumentLinks(markdown([operation.description, ...notes].join("\n\n"))) },
  ];
  const ids = idsOf(sections.map(({ title }) => title));
  const rendered = sections.map(
    ({ title, html }, index) =>
      `<section aria-labelledby="${ids[index]}"><h2 id="${ids[index]}">${escapeHTML(title)}</h2>${html}</section>`,
  );
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
      <section aria-labelledby="try">${renderForm(operation, tokenInput(withToken))}</section>
      <div class="reference">
        ${renderNavigation(sections, ids)}
        <div class="sections">
          ${rendered.join("")}
        </div>
      </div>
    </main>
    <footer>${escapeHTML([info.title, ...(info.license === undefined ? [] : [`${info.license.name} licence`])].join(" · "))}</footer>
  </body>
</html>
`;
}

function renderNavigation(sections: readonly Section[], ids: readonly string[]): string {
  const items = sections.map(
    ({ title }, index) => `<li><a href="#${ids[index]}">${escapeHTML(title)}</a></li>`,
  );
  return `<nav aria-label="Sections"><ul>${items.join("")}</ul></nav>`;
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

function withDocumentLinks(html: string): string {
  return html.replaceAll(
    /<code>(openapi[\w.-]*\.(?:json|yaml))<\/code>/g,
    (_, name) => `<a href="${prefixPlaceholder}${name}">${name}</a>`,
  );
}
