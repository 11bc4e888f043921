// Starts Scalar's API reference, in front of which it is loaded.

// Scalar's greys and greens are too faint for WCAG 2.2, success criterion 1.4.3: 2.3 to 4.3 where 4.5 is asked for.
// And it breaks words in tables, error codes too.
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

// Scalar gives the page's nonce to one of its style elements, but not to those of its theme, its notices and its editor.
// Handing it to each that a script makes keeps the policy closed to those that come as text.
const createElement = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};

document.addEventListener("DOMContentLoaded", () => {
  const { description } = document.querySelector("#reference").dataset;
  globalThis.Scalar.createApiReference("#reference", {
    url: description,
    // Nothing but this server: no fonts of a CDN, no telemetry, no assistant, no proxy, no other site's client.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    proxyUrl: "",
    hideClientButton: true,
    showDeveloperTools: "never",
    // A token that was pasted ends with the page.
    persistAuth: false,
    documentDownloadType: "direct",
    authentication: { preferredSecurityScheme: "bearerAuth" },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    defaultOpenAllTags: true,
    customCss,
  });
});
