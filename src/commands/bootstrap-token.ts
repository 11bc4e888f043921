// The first token of an empty store, which serve prints.

import { makeToken, randomBytes } from "../auth/token.ts";
import { OperatorError } from "../operator-error.ts";
import { printAll, printLines } from "../output.ts";
import type { TokenStore } from "../store/token-store.ts";

export interface ServerUrls {
  /** The base URL. */
  readonly url: string;
  /** Undefined if the page is disabled. */
  readonly documentationUrl: string | undefined;
  readonly consoleUrl: string | undefined;
}

/**
 * Prints the URL of a server, and, if its store never had a token, a first one with an example. A token that could not
 * be printed is revoked, so that the next start prints another.
 */
export async function printUrl(tokens: TokenStore, urls: ServerUrls): Promise<void> {
  const { token, record } = makeToken({ name: "first", expiresAt: null }, { now: Date.now(), randomBytes });
  if (!(await tokens.addFirst(record))) return printLines([urls.url]);
  await printAll([urls.url, ...bootstrapTokenLines(token, urls)]).catch(async (error) => {
    await tokens.revokeByHash(record.hash);
    throw new OperatorError(
      `the first token could not be printed (${error.code ?? error.message}), and is revoked; redirect standard output and start again: the next start prints another`,
    );
  });
}

function bootstrapTokenLines(token: string, { url, documentationUrl, consoleUrl }: ServerUrls): string[] {
  return [
    `
This store is new. Its first token, shown only once:

  ${token}

Create a plant with it:

  curl -i ${url}/plants \\
    -H 'Authorization: Bearer ${token}' \\
    -H 'Content-Type: application/json' \\
    -d '{"id": 1, "name": "Monstera deliciosa", "tag": "tropical"}'
`,
    ...(documentationUrl === undefined ? [] : [`or in a browser: ${documentationUrl}\n`]),
    ...(consoleUrl === undefined ? [] : [`The console is at ${consoleUrl}\n`]),
  ];
}
