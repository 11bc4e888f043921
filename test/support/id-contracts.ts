// Contracts of things whose ids the server chooses, and two servers of one.

import type { ContractSource } from "../../src/contract/contract.ts";
import { toExactJson } from "../../src/json/exact-json.ts";
import { collectionOperations } from "../../src/plants/index.ts";
import { sendJson } from "./contract-sandbox.ts";
import { onlyCollection } from "./contracts.ts";
import { jsonOf, objectOf, thingsDocument } from "./descriptions.ts";
import type { engines } from "./engines.ts";
import { startInProcess } from "./in-process-server.ts";
import { openedStore } from "./stored-plants.ts";

/** The schemas of ids, by what is special about them. */
export const idSchemas = {
  int64: { type: "integer", format: "int64" },
  "53 bits": { type: "integer", maximum: Number.MAX_SAFE_INTEGER },
  "a number": { type: "number" },
  int32: { type: "integer", format: "int32" },
  "at most 9999": { type: "integer", maximum: 9_999 },
  "a UUID": { type: "string", format: "uuid" },
  "24 digits": { type: "string", pattern: "^[0-9a-f]{24}$" },
  "a prefix": { type: "string", pattern: "^ses_[0-9a-z]+$", maxLength: 24 },
  "12 characters": { type: "string", maxLength: 12 },
} as const;

/** A contract of things with a name, which the server gives an id with this schema. */
export function contractWithIds(id: unknown): ContractSource {
  const name = { type: "string" };
  const response = objectOf({ id, name });
  const ok = { responses: { 200: { description: "ok", ...jsonOf(response) } } };
  const requestBody = jsonOf(objectOf({ name }));
  const item = {
    get: ok,
    patch: { requestBody, ...ok },
    delete: { responses: { 204: { description: "gone" } } },
  };
  return { text: toExactJson(thingsDocument({ body: objectOf({ name }, ["name"]), response, item })) };
}

/** The id of a thing in a response, with all digits. */
export function idIn({ text }: { readonly text: string }): string {
  return /"id":"?([^",}]+)/.exec(text)?.[1] ?? "";
}

/** Starts two servers on one store. */
export async function startTwo(engine: (typeof engines)[number], contract: ContractSource) {
  await using starting = new AsyncDisposableStack();
  const { database } = starting.use(await engine.createTestStore(contract));
  const servers: Awaited<ReturnType<typeof startInProcess>>[] = [];
  for (let count = 0; count < 2; count++) {
    const store = await openedStore(database, undefined, contract);
    const operations = collectionOperations(onlyCollection(store.contract));
    servers.push(starting.use(await startInProcess({ store, operations })));
  }
  const held = starting.move();
  const send = (server: number, method: string, at: string, body?: object, key?: string) =>
    sendJson(`${servers[server]?.url}/things${at}`, method, body, key ? { "Idempotency-Key": key } : {});
  return {
    database,
    servers,
    send,
    create: (server: number, name: string, key?: string) => send(server, "POST", "", { name }, key),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
