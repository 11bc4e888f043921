// Control of the tokens, and of the clock by which they expire.

import { AdminError } from "../core/admin/request-bodies.ts";
import { hashToken, isTokenName, makeToken, randomBytes } from "../core/auth/token.ts";
import type { SandboxClock } from "./clock.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { MemoryStore } from "./memory-store.ts";

const fixedTokenName = "sandbox";

const tokensMax = 1_000;

/** Some 100 years. */
const secondsMax = 3_200_000_000;

export interface TokensDependencies {
  readonly store: MemoryStore;
  readonly clock: SandboxClock;
  readonly token: string;
  readonly reloadTokens: () => Promise<void>;
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

  async function issue({ name, expiresInSeconds }: Readonly<Record<string, unknown>>): Promise<Response> {
    if (typeof name !== "string" || !isTokenName(name))
      throw new AdminError(400, "name must be a text without control characters.");
    const seconds =
      expiresInSeconds === undefined ? undefined : parseSeconds(expiresInSeconds, "expiresInSeconds");
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

  function setClock({
    now,
    advanceSeconds,
    offsetSeconds,
    ...others
  }: Readonly<Record<string, unknown>>): Response {
    const given = [now, advanceSeconds, offsetSeconds].filter((value) => value !== undefined);
    if (given.length !== 1 || Object.keys(others).length > 0)
      throw new AdminError(400, "The body must have one of now, advanceSeconds and offsetSeconds.");
    const offsetMs =
      now !== undefined
        ? clock.offsetMs + parseTime(now) - clock.now()
        : advanceSeconds !== undefined
          ? clock.offsetMs + parseSeconds(advanceSeconds, "advanceSeconds") * 1_000
          : parseSeconds(offsetSeconds, "offsetSeconds") * 1_000;
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

function parseSeconds(value: unknown, name: string): number {
  if (typeof value !== "number" || Math.abs(value) > secondsMax)
    throw new AdminError(400, `${name} must be a number of seconds, at most ${secondsMax}.`);
  return value;
}

/** RFC 3339, with a time zone. */
function parseTime(value: unknown): number {
  const isTime =
    typeof value === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i.test(value);
  const time = isTime ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw new AdminError(400, 'now must be a time such as "2027-01-01T00:00:00Z".');
  return time;
}
