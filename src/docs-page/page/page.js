// Shows the description by Scalar's API reference, which scalar.js has.

// Bodies and examples hold integers of 64 bits, and a number of JavaScript loses digits past 2^53:
// such a number is kept as its text, which JSON.stringify writes again, also of a copy.
const { parse, stringify } = JSON;
if (JSON.rawJSON === undefined) document.getElementById("digits").hidden = false;
else {
  let hasRaw = false;
  JSON.parse = (text, reviver) => {
    // Only a long number can be changed: a reviver takes longer than parsing.
    if (reviver !== undefined || !/\d{16}/.test(text)) return parse(text, reviver);
    return parse(text, (_, value, { source }) => {
      if (typeof value !== "number" || Number.isSafeInteger(value) || String(value) === source) return value;
      hasRaw = true;
      return JSON.rawJSON(source);
    });
  };
  const rawAgain = (_, value) =>
    typeof value?.rawJSON === "string" && !JSON.isRawJSON(value) ? JSON.rawJSON(value.rawJSON) : value;
  JSON.stringify = (value, replacer, space) =>
    stringify(value, replacer ?? (hasRaw ? rawAgain : undefined), space);
}

addEventListener("DOMContentLoaded", () => {
  const { url, schemes, token } = document.getElementById("reference").dataset;
  const values = { token, value: token, password: token, username: token && "sandbox" };
  const securitySchemes = Object.fromEntries(parse(schemes).map((name) => [name, values]));
  Scalar.createApiReference("#reference", {
    url,
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    agent: { disabled: true },
    mcp: { disabled: true },
    persistAuth: false,
    // The first operation begins on the first screen.
    customCss: `.scalar-app .section { padding-block: 24px } .scalar-app .section-container { padding-block: 0 }
      .markdown th:first-child { white-space: nowrap }`,
    // The statuses of examples, and the first operation, are what most come for.
    defaultOpenFirstTag: true,
    authentication: { preferredSecurityScheme: parse(schemes)[0], securitySchemes },
  });
});
