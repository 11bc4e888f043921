// Control of the tokens, and of the clock by which they expire.

import type { NewToken } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../core/admin/request-bodies.ts";
import { hashToken, makeToken, randomBytes } from "../core/auth/token.ts";
import type { SandboxClock } from "./clock.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import { parseDescribed } from "./described-json.ts";
import type { MemoryStore } from "./memory-store.ts";

const fixedTokenName = "sandbox";

const tokensMax = 1_000;

export interface TokensDependencies {
  readonly store: MemoryStore;
  readonly clock: SandboxClock;
  readonly token: string;
  readonly reloadTokens: () => Promise<void>;
}

/** A change of the clock, by one of these. */
interface ClockChange {
  readonly now?: string;
  readonly advanceSeconds?: number;
  readonly offsetSeconds?: number;
}

export function storeFixedToken({
  store,
  clock,
  token,
}: Omit<TokensDependencies, "reloadTokens">): Promise<void> {
  return store.replaceTokens({
    hash: hashToken(token),
    name: fixedTokenName,
    createdAt: clock.now(),
    expiresAt: null,
  });
}

export function tokensPart(dependencies: TokensDependencies): SandboxPart {
  const { store, clock, token: fixedToken, reloadTokens } = dependencies;

  async function issue(body: object): Promise<Response> {
    const { name, expiresInSeconds: seconds } = await parseDescribed<NewToken>(body, "NewToken");
    if ((await store.tokens.list()).length >= tokensMax)
      throw new AdminError(
        409,
        `There may be ${tokensMax} tokens, revoked ones included; a reset removes them.`,
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
    const { now, advanceSeconds, offsetSeconds } = await parseDescribed<ClockChange>(body, "ClockChange");
    const aheadMs = now === undefined ? (advanceSeconds ?? 0) * 1_000 : Date.parse(now) - clock.now();
    const offsetMs = offsetSeconds === undefined ? clock.offsetMs + aheadMs : offsetSeconds * 1_000;
    if (!clock.setOffset(offsetMs)) throw new AdminError(400, "The time must be in the years 0000 to 9999.");
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
      "GET /sandbox/clock": () => respondControl(describeClock()),
      "PUT /sandbox/clock": async ({ json }) => setClock(await json()),
    },
    async reset() {
      clock.setOffset(0);
      await storeFixedToken(dependencies);
      await reloadTokens();
    },
    describe: () => ({ token: fixedToken, clock: describeClock() }),
  };
}
