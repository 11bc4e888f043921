// A server of one of the contracts in test/contracts, on any engine.

import { afterAll, beforeAll } from "bun:test";
import { contractFile, sendJson, tokenHeaders } from "./contract-sandbox.ts";
import type { engines } from "./engines.ts";
import type { Answer } from "./http.ts";
import { RunningServer } from "./server.ts";

/** A server that runs while the tests of the surrounding `describe` do. */
export function contractServer(
  engine: (typeof engines)[number],
  file: string,
  { args = [], tokenName }: { readonly args?: readonly string[]; readonly tokenName?: string } = {},
) {
  const resources = new AsyncDisposableStack();
  let server: RunningServer;
  let token: string;
  beforeAll(async () => {
    const path = contractFile(file);
    const { database } = resources.use(await engine.createTestStore({ text: await Bun.file(path).text() }));
    const all = ["--contract", path, ...args];
    server = resources.use(await RunningServer.startInProcess({ database, args: all }));
    token = await server.createToken(tokenName);
  });
  afterAll(() => resources.disposeAsync());
  return {
    get server(): RunningServer {
      return server;
    },
    get token(): string {
      return token;
    },
    /** Sends a request with a token; headers replace its own. */
    request: (
      method: string,
      at: string,
      body?: string | object,
      headers: Record<string, string> = {},
    ): Promise<Answer> => sendJson(server.url + at, method, body, { ...tokenHeaders(token), ...headers }),
    /** Runs a command on the store. */
    command: (...args: string[]) => server.command(...args),
  };
}
