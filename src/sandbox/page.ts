// Fills the token of a sandbox into the documentation page, and adds a note on what is not of a server.

import { fieldValue, type TokenField } from "../contract/access.ts";
import type { Handler } from "../http/handler.ts";

interface SandboxPage {
  readonly token: string;
  /** The header field of the token, and what goes before the token; undefined where none is needed. */
  readonly field: TokenField | undefined;
  /** Undefined without an admin listener. */
  readonly controlUrl: () => string | undefined;
}

/** Changes the page of a handler, the only response that is HTML. */
export function withSandboxPage(next: Handler, { token, field, controlUrl }: SandboxPage): Handler {
  return async (request, context) => {
    const response = await next(request, context);
    if (response.headers.get("Content-Type")?.startsWith("text/html") !== true) return response;
    const control = controlUrl();
    const sentences = [
      ...(field === undefined ? [] : [`Send the token as \`${field[0]}: ${fieldValue(field, token)}\`.`]),
      "`Prefer: code=429, delay=2.5` chooses a response.",
      ...(control === undefined
        ? []
        : [`[Control](${control}/openapi.json) resets it, and has its requests.`]),
    ];
    const note = `<details class="note"><summary>This is a sandbox: its store is in memory, and nothing is kept.</summary>${Bun.markdown.html(sentences.join(" "))}</details>`;
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
