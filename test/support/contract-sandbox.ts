// A sandbox of one of the contracts in test/contracts, or of any other file.

import { join } from "node:path";
import { toExactJson } from "../../src/json/exact-json.ts";
import { readContractFile } from "../../src/openapi/files/read-contract-file.ts";
import { readSingle } from "./contracts.ts";
import { type DescribedThings, thingsDocument } from "./descriptions.ts";
import { type Answer, send } from "./http.ts";
import { RunningSandbox } from "./sandbox.ts";
import { TemporaryFolder } from "./server.ts";

/** The path of a contract of the tests. */
export function contractFile(name: string): string {
  return join(import.meta.dir, "../contracts", name);
}

/** The token in every field that a contract may name. */
export function tokenHeaders(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}`, "X-API-Key": token };
}

export function sendJson(
  url: string,
  method: string,
  body: string | object | undefined,
  headers: Record<string, string>,
): Promise<Answer> {
  return send(url, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/** Starts a sandbox with a contract; its requests carry the token unless they have other headers. */
export async function sandboxOf(path: string, args: readonly string[] = []) {
  const collection = await readSingle(await readContractFile(path), true);
  const sandbox = await RunningSandbox.startInProcess({ args: ["--contract", path, ...args] });
  const { url, token } = sandbox;
  return {
    collection,
    sandbox,
    url,
    token,
    request: (
      method: string,
      at: string,
      body?: string,
      headers: Record<string, string> = tokenHeaders(token),
    ): Promise<Answer> => sendJson(url + at, method, body, headers),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

/** Starts a sandbox with a description of things. */
export function sandboxOfThings(described: DescribedThings, args: readonly string[] = []) {
  return sandboxOfText(toExactJson(thingsDocument(described)), args);
}

/** Starts a sandbox with the text of a description. */
export async function sandboxOfText(text: string, args: readonly string[] = []) {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const path = folder.file("contract.yaml");
  await Bun.write(path, text);
  const sandbox = resources.use(await sandboxOf(path, args));
  const held = resources.move();
  return { ...sandbox, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
