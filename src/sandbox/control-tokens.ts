// Control of the tokens, and of the clock by which they expire.

import type { ClockChange, NewToken } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../admin-pages/admin-responses.ts";
import { hashToken, makeToken, randomBytes } from "../core/auth/token.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import { parseDescribed } from "./described-json.ts";
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
  async function issue(body: object): Promise<Response> {
    const { name, expiresInSeconds: seconds } = await parseDescribed<NewToken>(
      store.contract,
      body,
      "NewToken",
    );
    const now = clock.now();
    const expiresAt = seconds === undefined ? null : Math.round(now + seconds * 1_000);
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
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

  async function setClock(body: object): Promise<Response> {
    const { offsetSeconds } = await parseDescribed<ClockChange>(store.contract, body, "ClockChange");
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
      "POST /sandbox/tokens": async ({ json }) => issue(await json()),
      "DELETE /sandbox/tokens/{name}": ({ parameter }) => revoke(parameter),
      "PUT /sandbox/clock": async ({ json }) => setClock(await json()),
    },
    async reset() {
      clock.offsetMs = 0;
      await reloadTokens();
    },
    describe: () => ({ token: fixedToken, clock: describeClock() }),
  };
}
