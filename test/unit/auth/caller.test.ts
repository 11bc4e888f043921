// The creators of callers without a token of the store.

import { expect, test } from "bun:test";
import { type Caller, creatorName, creatorResolver } from "../../../src/auth/caller.ts";
import type { ServerEvent } from "../../../src/base/server-event.ts";

const issuer = "https://id.example";

/** A caller that has not created anything; each JWT of a subject has a caller of its own. */
function newCaller(name: string): Caller {
  return { key: `jwt ${name}`, name, issuer, creator: undefined };
}

test("first creates that arrive together share one call to the store, and its failure is reported once", async () => {
  const names: string[] = [];
  const events: ServerEvent[] = [];
  let isAway = true;
  const creatorKey = async (name: string) => {
    names.push(name);
    if (isAway) throw new Error("away");
    return name.length;
  };
  const resolve = creatorResolver({ creatorKey }, (event) => events.push(event));
  const callers = ["ann", "ann", "bert", "ann"].map(newCaller);
  const resolveAll = () => Promise.all(callers.map(resolve));

  for (const error of await resolveAll()) expect(error).toMatchObject({ code: "unavailable" });
  expect(events.map(({ kind }) => kind)).toEqual(["storeUnavailable", "storeUnavailable"]);
  expect(callers.map(({ creator }) => creator)).toEqual([undefined, undefined, undefined, undefined]);

  isAway = false;
  names.length = 0;
  expect(await resolveAll()).toEqual([undefined, undefined, undefined, undefined]);
  const [ann, bert] = ["ann", "bert"].map((name) => creatorName({ key: "", name, issuer }));
  expect(names).toEqual([ann, bert] as string[]);
  for (const caller of callers) expect(caller.creator).toBe(creatorName(caller).length);
});
