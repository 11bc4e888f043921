// Shows the description by Scalar's API reference, which scalar.js has.

// Bodies and examples hold integers of 64 bits, and a number of JavaScript loses digits past 2^53:
// such a number is kept as its text, which JSON.stringify writes again.
const parse = JSON.parse;
if (JSON.rawJSON === undefined) document.getElementById("digits").hidden = false;
else
  JSON.parse = (text, reviver) => {
    // Only a long number can be changed: a reviver takes longer than parsing.
    if (reviver !== undefined || !/\d{16}/.test(text)) return parse(text, reviver);
    return parse(text, (_, value, { source }) =>
      typeof value === "number" && !Number.isSafeInteger(value) && String(value) !== source
        ? JSON.rawJSON(source)
        : value,
    );
  };

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
    // The statuses of examples, and the first operation, are what most come for.
    defaultOpenFirstTag: true,
    authentication: { preferredSecurityScheme: parse(schemes)[0], securitySchemes },
  });
});
