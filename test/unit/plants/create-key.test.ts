// The keys by which creates are known that are sent again.

import { expect, test } from "bun:test";
import { CreateKey } from "../../../src/plants/new-ids.ts";

test("a key is that of a collection, an issuer and a name", () => {
  const owner = { name: "ci" };
  const keys = [
    new CreateKey({ table: "visits" }, owner, "k"),
    new CreateKey({ table: "guests" }, owner, "k"),
    new CreateKey({ table: "visits" }, { ...owner, issuer: "https://id.example" }, "k"),
    new CreateKey({ table: "visits" }, { name: "other" }, "k"),
    new CreateKey({ table: "visits" }, owner, "other"),
  ];
  expect(keys[0]?.text).toHaveLength(22);
  expect(new Set(keys.map(({ text }) => text)).size).toBe(keys.length);
});
