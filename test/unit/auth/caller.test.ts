// The creators of callers without a token of the store.

import { expect, test } from "bun:test";
import { type Caller, creatorName, creatorResolver } from "../../../src/auth/caller.ts";
import type { ServerEvent } from "../../../src/base/server-event.ts";
import { nextTurn } from "../../support/eventually.ts";

const issuer = "https://id.example";

/** A caller that has not created anything; each JWT of a subject has a caller of its own. */
function newCaller(name: string): Caller {
  return { key: `jwt ${name}`, name, issuer, creator: undefined };
}

test("creates that arrive together share a call, and its failure is reported once", async () => {
  const names: string[] = [];
  const events: ServerEvent[] = [];
  let isAway = true;
  const creatorKeys = async (asked: readonly string[]) => {
    names.push(...asked);
    if (isAway) throw new Error("away");
    return asked.map((name) => name.length);
  };
  const resolve = creatorResolver({ creatorKeys }, (event) => events.push(event));
  const callers = ["ann", "ann", "bert", "ann"].map(newCaller);
  const resolveAll = () => Promise.all(callers.map(resolve));

  for (const error of await resolveAll()) expect(error).toMatchObject({ code: "unavailable" });
  expect(events.map(({ kind }) => kind)).toEqual(["storeUnavailable"]);
  expect(callers.map(({ creator }) => creator)).toEqual([undefined, undefined, undefined, undefined]);

  isAway = false;
  names.length = 0;
  expect(await resolveAll()).toEqual([undefined, undefined, undefined, undefined]);
  const [ann, bert] = ["ann", "bert"].map((name) => creatorName({ name, issuer }));
  expect(names).toEqual([ann, bert] as string[]);
  for (const caller of callers) expect(caller.creator).toBe(creatorName(caller).length);
});

test("those that arrive during a call share the next ones, of a hundred each", async () => {
  const sizes: number[] = [];
  const first = Promise.withResolvers<void>();
  const creatorKeys = async (asked: readonly string[]) => {
    sizes.push(asked.length);
    if (sizes.length === 1) await first.promise;
    return asked.map((name) => name.length);
  };
  const resolve = creatorResolver({ creatorKeys }, () => undefined);
  const callers = Array.from({ length: 251 }, (_, index) => newCaller(`gardener ${index}`));
  const [one, ...others] = callers.map((caller, index) =>
    index === 0 ? resolve(caller) : nextTurn().then(() => resolve(caller)),
  );
  await nextTurn();
  await nextTurn();
  first.resolve();
  await Promise.all([one, ...others]);
  expect(sizes).toEqual([1, 100, 100, 50]);
  for (const caller of callers) expect(caller.creator).toBe(creatorName(caller).length);
});
