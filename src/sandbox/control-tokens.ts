// Issues and revokes tokens for control.

import type { NewToken } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../admin-pages/admin-responses.ts";
import { hashToken, makeToken, randomBytes } from "../auth/token.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { MemoryStore } from "./memory-store.ts";

const fixedTokenName = "sandbox";

/** Stores the token that a sandbox starts with. */
export async function storeFixedToken(store: MemoryStore, token: string): Promise<void> {
  const hash = hashToken(token);
  await store.tokens.add({ hash, name: fixedTokenName, createdAt: Date.now(), expiresAt: null });
}

export function tokensPart(
  store: MemoryStore,
  fixedToken: string,
  reloadTokens: () => Promise<void>,
): SandboxPart {
  async function issue({ name, scopes, expiresInSeconds: seconds }: NewToken): Promise<Response> {
    const now = Date.now();
    const expiresAt = seconds === undefined ? null : Math.round(now + seconds * 1_000);
    const { token, record } = makeToken({ name, expiresAt, scopes }, { now, randomBytes });
    if (!(await store.tokens.add(record)))
      throw new AdminError(409, `There is a token named ${JSON.stringify(name)}; DELETE it first.`);
    await reloadTokens();
    return respondControl({ token }, 201);
  }

  async function revoke(name: string): Promise<Response> {
    if (!(await store.tokens.revoke(name, Date.now())))
      throw new AdminError(404, `There is no token named ${JSON.stringify(name)}.`);
    await reloadTokens();
    return respondDone();
  }

  return {
    routes: {
      "POST /sandbox/tokens": async ({ body }) => issue(await body()),
      "DELETE /sandbox/tokens/{name}": ({ parameters: { name = "" } }) => revoke(name),
    },
    reset: reloadTokens,
    describe: () => ({ token: fixedToken }),
  };
}
