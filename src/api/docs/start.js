// Starts Scalar's API reference. Loaded before Scalar itself.

// Scalar's greys and greens have a contrast of 2.3 to 4.3; WCAG 2.2, success criterion 1.4.3, requires 4.5. Scalar also
// breaks words in tables, error codes included.
const customCss = `
.scalar-app .markdown :is(th, td):first-child { word-break: normal; }
.light-mode {
  --scalar-color-2: #4f4f4f;
  --scalar-color-3: #5c5c5c;
  --scalar-color-green: #05683f;
  --scalar-color-blue: #005f99;
  --scalar-color-orange: #934400;
  --scalar-color-red: #b3161c;
  --scalar-color-purple: #5b1fa8;
  --scalar-color-yellow: #6b5300;
}
.dark-mode {
  --scalar-color-2: #b8b8b8;
  --scalar-color-3: #a6a6a6;
}`;

const nonce = document.querySelector('meta[property="csp-nonce"]').content;

// Scalar sets the page's nonce on one of its style elements, but not on those of its theme, its notices and its editor.
// Setting it on each element that a script creates keeps the policy closed to style elements in markup.
const createElement = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};

document.addEventListener("DOMContentLoaded", () => {
  const { openapi } = document.querySelector("#reference").dataset;
  globalThis.Scalar.createApiReference("#reference", {
    url: openapi,
    // Requests go to this server only: no fonts of a CDN, no telemetry, no assistant, no proxy, no client of another site.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    proxyUrl: "",
    hideClientButton: true,
    showDeveloperTools: "never",
    // A token that was pasted is not stored.
    persistAuth: false,
    documentDownloadType: "direct",
    authentication: { preferredSecurityScheme: "bearerAuth" },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    defaultOpenAllTags: true,
    customCss,
  });
});
