// The parser of Authorization, on a real store with a real token, compared with a character-wise
// parser of RFC 6750.

import { Authenticator } from "../../../src/core/auth/authenticator.ts";
import { hashToken } from "../../../src/core/auth/token.ts";
import { TokenCache } from "../../../src/core/auth/token-cache.ts";
import { ApiError } from "../../../src/core/contract/errors.ts";
import type { ServerEvent } from "../../../src/core/observability/server-event.ts";
import { openDatabase } from "../../../src/core/store/sqlite/connection.ts";
import { SqliteTokens } from "../../../src/core/store/sqlite/tokens.ts";
import { TemporaryFolder } from "../../support/server.ts";
import type { FuzzTarget } from "./fuzzer.ts";

/**
 * The token that is accepted. Always the same one, so that a saved input gives the same result in
 * every run.
 */
const token = `pst_${"fuzz".repeat(10)}AAA`;
const caller = { key: hashToken(token), name: "fuzz", creator: 1 };

/** The target, on a store of its own. */
export async function authorizationTarget(): Promise<FuzzTarget & AsyncDisposable> {
  const folder = new TemporaryFolder();
  const database = openDatabase(folder.file("plants.db"), "create");
  const stored = new SqliteTokens(database);
  await stored.add({ hash: caller.key, name: caller.name, createdAt: 0, expiresAt: null });
  const tokens = new TokenCache(stored, () => 0, fail);
  await tokens.start();
  const authenticator = new Authenticator(tokens, undefined);
  return {
    name: "authorization",
    words: ["Bearer", "bEARER", "Bearer ", " ", "\t", ",", "=", "==", ".", "pst_", token, "Basic ", "\xa0"],
    check(input) {
      const headers = headersOf(input);
      const expected = parseAuthorization(headers.get("authorization") ?? "");
      const result = authenticator.authenticate(headers);
      const given = result instanceof ApiError ? result.code : result;
      const isRight = given instanceof Promise ? expected === "unknown" : Bun.deepEquals(given, expected);
      if (!isRight) throw new Error(`the result is ${Bun.inspect(given)}, not ${Bun.inspect(expected)}`);
      if (given instanceof Promise) void given.then(checkUnknown);
    },
    async [Symbol.asyncDispose]() {
      await tokens.stop();
      database.close();
      folder[Symbol.dispose]();
    },
  };
}

/** Throws, which ends the process, if a token that was never issued is accepted. */
function checkUnknown(result: unknown): void {
  if (!(result instanceof ApiError) || result.code !== "invalidToken")
    throw new Error(`the result for a token that was never issued is ${Bun.inspect(result)}`);
}

/**
 * A header's value reaches the server as Latin-1, without space around it (RFC 9110, section 5.5).
 */
function headersOf(input: Buffer): Headers {
  try {
    return new Headers({ authorization: input.toString("latin1") });
  } catch {
    // The server never receives a value that is invalid in a header.
    return new Headers();
  }
}

/** RFC 9110, section 11.4, and RFC 6750, section 2.1, one character at a time. */
function parseAuthorization(value: string): typeof caller | "missingToken" | "invalidToken" | "unknown" {
  const space = value.indexOf(" ");
  const scheme = space === -1 ? value : value.slice(0, space);
  if (scheme.toLowerCase() !== "bearer") return "missingToken";
  let start = scheme.length;
  while (value[start] === " ") start++;
  const sent = value.slice(start);
  if (sent === token) return caller;
  let end = sent.length;
  while (sent[end - 1] === "=") end--;
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";
  const isWellFormed = end > 0 && [...sent.slice(0, end)].every((character) => alphabet.includes(character));
  return isWellFormed && sent.length <= 8_192 ? "unknown" : "invalidToken";
}

function fail(event: ServerEvent): never {
  throw new Error(Bun.inspect(event));
}
