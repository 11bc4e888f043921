// The map that forgets its oldest entry.

import { expect, test } from "bun:test";
import { BoundedMap } from "../../../src/base/bounded-map.ts";

test("the entry that was set longest ago is forgotten", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});
