// Issues and revokes tokens for control, and sets the clock by which they expire.

import type { ClockChange, NewToken } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../admin-pages/admin-responses.ts";
import { hashToken, makeToken, randomBytes } from "../auth/token.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { MemoryStore } from "./memory-store.ts";

/** The clock by which tokens expire: the real one, set forward or back. */
export class SandboxClock {
  offsetMs = 0;

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + this.offsetMs;
  }
}

const fixedTokenName = "sandbox";

export interface TokensDependencies {
  readonly store: MemoryStore;
  readonly clock: SandboxClock;
  readonly token: string;
  readonly reloadTokens: () => Promise<void>;
}

/** Stores the token that a sandbox starts with. */
export async function storeFixedToken(store: MemoryStore, token: string): Promise<void> {
  const hash = hashToken(token);
  await store.tokens.add({ hash, name: fixedTokenName, createdAt: Date.now(), expiresAt: null });
}

export function tokensPart({
  store,
  clock,
  token: fixedToken,
  reloadTokens,
}: TokensDependencies): SandboxPart {
  async function issue({ name, scopes, expiresInSeconds: seconds }: NewToken): Promise<Response> {
    const now = clock.now();
    const expiresAt = seconds === undefined ? null : Math.round(now + seconds * 1_000);
    const { token, record } = makeToken({ name, expiresAt, scopes }, { now, randomBytes });
    if (!(await store.tokens.add(record)))
      throw new AdminError(409, `There is a token named ${JSON.stringify(name)}; DELETE it first.`);
    await reloadTokens();
    return respondControl({ token }, 201);
  }

  async function revoke(name: string): Promise<Response> {
    if (!(await store.tokens.revoke(name, clock.now())))
      throw new AdminError(404, `There is no token named ${JSON.stringify(name)}.`);
    await reloadTokens();
    return respondDone();
  }

  function setClock({ offsetSeconds }: ClockChange): Response {
    // The store has times in whole milliseconds.
    clock.offsetMs = Math.round(offsetSeconds * 1_000);
    return respondControl(describeClock());
  }

  const describeClock = () => ({
    now: new Date(clock.now()).toISOString(),
    offsetSeconds: clock.offsetMs / 1_000,
  });
  return {
    routes: {
      "POST /sandbox/tokens": async ({ body }) => issue(await body()),
      "DELETE /sandbox/tokens/{name}": ({ parameters: { name = "" } }) => revoke(name),
      "PUT /sandbox/clock": async ({ body }) => setClock(await body()),
    },
    async reset() {
      clock.offsetMs = 0;
      await reloadTokens();
    },
    describe: () => ({ token: fixedToken, clock: describeClock() }),
  };
}
