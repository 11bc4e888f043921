// The HTML of the documentation page.

export interface DocumentationLinks {
  /** Where the description is; it and the scripts may be relative. */
  readonly description: string;
  readonly start: string;
  readonly scalar: string;
}

const icon =
  "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232e7d32' " +
  "d='M7 15V9C2 9 1 6 1 2c5 0 7 2 7 5 0-2 2-4 7-4 0 4-2 7-6 7v5z'/%3E%3C/svg%3E";

/** @param nonce what style elements must carry; Scalar reads it from the meta element. */
export function documentationHtml(links: DocumentationLinks, nonce: string): string {
  const [description, start, scalar] = [links.description, links.start, links.scalar].map(Bun.escapeHTML);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta property="csp-nonce" content="${nonce}">
    <title>Plant Store</title>
    <link rel="icon" href="data:image/svg+xml,${icon}">
    <script src="${start}"></script>
    <script src="${scalar}" defer></script>
  </head>
  <body>
    <div id="reference" data-description="${description}"></div>
    <noscript>This page needs JavaScript. <a href="${description}">openapi.json</a> says the same.</noscript>
  </body>
</html>
`;
}
