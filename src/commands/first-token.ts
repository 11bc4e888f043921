// The token that an empty store begins with.

import type { TokenStore } from "../store/token-store.ts";
import { makeToken, randomBytes } from "../tokens/token.ts";

/** Where a server can be reached. */
export interface Places {
  /** The base address. */
  readonly url: string;
  /** Undefined where there is no such page. */
  readonly documentationUrl: string | undefined;
  readonly consoleUrl: string | undefined;
}

/** Stores a first token if the store never had one, and gives the lines that show it and what to do with it; else none. */
export async function firstTokenLines(tokens: TokenStore, places: Places): Promise<string[]> {
  const { url, documentationUrl, consoleUrl } = places;
  const { token, record } = makeToken({ name: "first", expiresAt: null }, { now: Date.now(), randomBytes });
  if (!(await tokens.addFirst(record))) return [];
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
