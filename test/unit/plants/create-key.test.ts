// The keys by which creates are known that are sent again.

import { expect, test } from "bun:test";
import { CreateKey } from "../../../src/plants/new-ids.ts";

test("a key is that of a collection, an issuer and a name", () => {
  const [first = "", ...others] = [
    ["visits", undefined, "ci", "k"],
    ["guests", undefined, "ci", "k"],
    ["visits", "https://id.example", "ci", "k"],
    ["visits", "https://other.example", "ci", "k"],
    ["visits", undefined, "other", "k"],
    ["visits", undefined, "ci", "other"],
  ].map(([table = "", issuer, name = "", key = ""]) => new CreateKey({ table }, { issuer, name }, key).text);
  expect(first).toHaveLength(22);
  expect(new Set([first, ...others]).size).toBe(6);
});
