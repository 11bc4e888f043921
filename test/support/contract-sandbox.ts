// A sandbox of one of the contracts in test/contracts, or of any other file.

import { join } from "node:path";
import { readContract } from "../../src/core/contract/read-contract.ts";
import { type Answer, send } from "./http.ts";
import { RunningSandbox } from "./sandbox.ts";

/** The path of a contract of the tests. */
export function contractFile(name: string): string {
  return join(import.meta.dir, "../contracts", name);
}

/**
 * Starts a sandbox with a contract; its requests carry the token in every field that a contract may
 * name.
 */
export async function sandboxOf(path: string, args: readonly string[] = []) {
  const contract = await readContract({ text: await Bun.file(path).text() });
  const sandbox = await RunningSandbox.startInProcess({ args: ["--contract", path, ...args], contract });
  const { url, token } = sandbox;
  const request = (
    method: string,
    at: string,
    body?: string,
    headers: Record<string, string> = { Authorization: `Bearer ${token}`, "X-API-Key": token },
  ): Promise<Answer> =>
    send(url + at, {
      method,
      headers: { "Content-Type": "application/json", ...headers },
      ...(body !== undefined && { body }),
    });
  return {
    contract,
    sandbox,
    url,
    token,
    request,
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}
