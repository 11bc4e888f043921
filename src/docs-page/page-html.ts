// Writes the documentation page: a document around Scalar's API reference, which reads openapi.json.

import type { Description } from "./description.ts";

const { escapeHTML } = Bun;

/** The icon of the product in a square of 16 units. The console's is src/console/page/icon.svg. */
const icon =
  "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' d='M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z'/%3E%3C/svg%3E";

const style =
  ":root{color-scheme:light dark}body{margin:0}.note{font:14px/1.5 system-ui,sans-serif;margin:0;padding:.5rem 1.5rem}";

/** @param prefix "" or a path with a slash at its end, before every relative link. */
export function pageHtml({ info, components }: Description, prefix: string): string {
  const link = (name: string) => `<a href="${escapeHTML(prefix)}${name}">${name}</a>`;
  const documents = `${link("openapi.json")} and ${link("openapi.yaml")}`;
  const schemes = JSON.stringify(Object.keys(components.securitySchemes ?? {}));
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHTML(info.title)}</title>
    <link rel="icon" href="data:image/svg+xml,${icon}">
    <style>${style}</style>
    <script src="${escapeHTML(prefix)}docs/page.js"></script>
    <script src="${escapeHTML(prefix)}docs/scalar.js" defer></script>
  </head>
  <body>
    <noscript><h1>${escapeHTML(info.title)}</h1><p class="note">The documentation needs JavaScript. The description of the interface is in ${documents}.</p></noscript>
    <p class="note" id="digits" hidden>This browser rounds integers past 2^53: take their digits from another program.</p>
    <main id="reference" data-url="${escapeHTML(prefix)}openapi.json" data-schemes="${escapeHTML(schemes)}"></main>
  </body>
</html>
`;
}
