// Changes the documentation page for a sandbox: fills the token in, and adds a note that says
// how the sandbox is told what to respond.

import { fieldValue, type TokenField } from "../contract/access.ts";
import type { Handler } from "../http/handler.ts";

/**
 * Changes the page of a handler, the only response that is HTML.
 *
 * @param controlUrl undefined without an admin listener.
 */
export function withSandboxPage(
  next: Handler,
  {
    token,
    field,
    controlUrl,
  }: {
    readonly token: string;
    /**
     * The header field of the token, and what goes before the token; undefined where none is
     * needed.
     */
    readonly field: TokenField | undefined;
    readonly controlUrl: () => string | undefined;
  },
): Handler {
  return async (request, context) => {
    const response = await next(request, context);
    if (response.headers.get("Content-Type")?.startsWith("text/html") !== true) return response;
    const text = Bun.markdown.html(
      describe(field && `${field[0]}: ${fieldValue(field, token)}`, token, controlUrl()),
    );
    const note = `<details class="note"><summary>This is a sandbox: its store is in memory, and nothing is kept.</summary>${text}</details>`;
    return new HTMLRewriter()
      .on("main", {
        element(main) {
          main.setAttribute("data-token", token);
          main.before(note, { html: true });
        },
      })
      .transform(response);
  };
}

/** @param sent the header field of the token. */
function describe(sent: string | undefined, token: string, controlUrl: string | undefined): string {
  const control =
    controlUrl === undefined
      ? ""
      : `
[Control](${controlUrl}/openapi.json) reads plants and requests back, resets the sandbox, and has rules for
requests that cannot send \`Prefer\`:

    curl -X POST ${controlUrl}/reset
    curl ${controlUrl}/requests
    curl ${controlUrl}/rules -d '{"times": 1, "outcome": {"error": 50300}}'
`;
  const tokens = sent === undefined ? "" : `The token is \`${token}\`: send it as \`${sent}\`.\n\n`;
  return `${tokens}A request chooses its response with a \`Prefer\` header:

| Prefer | Response |
| --- | --- |
| \`code=429\` | The error with this status, or with a code such as \`code=40009\`. |
| \`example=withTag\` | This example of the description. |
| \`delay=2.5\` | After so many seconds. |
${control}`;
}
