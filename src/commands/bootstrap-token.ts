// The token that an empty store begins with.

import { makeToken, randomBytes } from "../auth/token.ts";
import { OperatorError } from "../operator-error.ts";
import { printAll, printLines } from "../output.ts";
import type { TokenStore } from "../store/token-store.ts";

/** Where a server can be reached. */
export interface Places {
  /** The base address. */
  readonly url: string;
  /** Undefined where there is no such page. */
  readonly documentationUrl: string | undefined;
  readonly consoleUrl: string | undefined;
}

/**
 * Prints the address of a server; and, if its store never had a token, a first one and what to do with it. A token that
 * was not printed is withdrawn, so that the next start shows another.
 */
export async function printAddress(tokens: TokenStore, places: Places): Promise<void> {
  const { token, record } = makeToken({ name: "first", expiresAt: null }, { now: Date.now(), randomBytes });
  if (!(await tokens.addFirst(record))) return printLines([places.url]);
  await printAll([places.url, ...bootstrapTokenLines(token, places)]).catch(async (error) => {
    await tokens.revokeByHash(record.hash);
    throw new OperatorError(
      `the first token could not be printed (${error.code ?? error.message}), and is revoked; see to standard output, and start again: the next start shows another`,
    );
  });
}

function bootstrapTokenLines(token: string, { url, documentationUrl, consoleUrl }: Places): string[] {
  return [
    `
This store is new. Its first token, shown only this once:

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
