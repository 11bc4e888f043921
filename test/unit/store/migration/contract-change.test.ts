// Comparing the contract of a store with another one.

import { expect, test } from "bun:test";
import { readContract } from "../../../../src/openapi/description/read-contract.ts";
import { compareContracts } from "../../../../src/store/migration/contract-change.ts";
import { withStoredNames } from "../../../../src/store/migration/stored-names.ts";
import { shelfFields as own, shelves } from "../../../support/contracts.ts";
import { settled } from "../../../support/settled.ts";

const original = await readContract(shelves(own));

async function changeTo(
  wanted: ReturnType<typeof shelves>,
  renames: readonly (readonly [string, string])[] = [],
) {
  return compareContracts(original, await readContract(wanted), new Map(renames));
}

test.each([
  ["no change", shelves(own)],
  ["a field more", shelves({ ...own, note: { type: "string" } })],
  ["a field less", shelves({ name: own.name, size: own.size })],
  ["a field that is optional now", shelves(own, [])],
  [
    "a required field with a default",
    shelves({ ...own, room: { type: "string", default: "hall" } }, ["name", "room"]),
  ],
  [
    "keywords in another order, and other descriptions",
    shelves({ ...own, size: { maximum: 9, description: "In metres.", minimum: 1, type: "integer" } }),
  ],
])("%s: what is stored fits without a look at it", async (_, wanted) => {
  expect((await changeTo(wanted)).kept.map(({ isRestricted }) => isRestricted)).toEqual([false]);
});

test.each([
  ["a narrower limit", shelves({ ...own, name: { type: "string", maxLength: 9 } })],
  ["a value less", shelves({ ...own, kind: { type: "string", enum: ["a"] } })],
  ["a pattern", shelves({ ...own, name: { ...own.name, pattern: "^a" } })],
  ["a required field without a default", shelves({ ...own, room: { type: "string" } }, ["name", "room"])],
  [
    "a required field whose default cannot be stored",
    shelves({ ...own, room: { type: "string", default: "a\0b" } }, ["name", "room"]),
  ],
  ["a field that is required now", shelves(own, ["name", "kind"])],
  [
    "an id that is restricted",
    { text: shelves(own).text.replaceAll('"id":{"type":"integer"}', '"id":{"type":"integer","minimum":1}') },
  ],
])("%s: what is stored is read first", async (_, wanted) => {
  expect((await changeTo(wanted)).kept.map(({ isRestricted }) => isRestricted)).toEqual([true]);
});

test("another type is refused, with the ways out", async () => {
  const wanted = shelves({ ...own, size: { type: "string" } });
  expect(await settled(changeTo(wanted))).toThrow(
    'the store has another contract, which it keeps: "size" was an integer (int64), at least 1 and at most 9, and would be a string, which is stored in another way; give it another name, or export, and import into a new store',
  );
});

test("a rename keeps a field; one that is not said is a drop and an addition", async () => {
  const { kind, ...others } = own;
  const wanted = shelves({ ...others, sort: kind });
  const [said, unsaid] = [await changeTo(wanted, [["kind", "sort"]]), await changeTo(wanted)];
  expect(said.dropped).toEqual([]);
  expect(said.kept[0]?.added).toEqual([]);
  expect(said.contract.collections[0]?.renamed).toEqual({ kind: "sort" });
  expect(unsaid.dropped.map(({ name }) => name)).toEqual(["kind"]);
  expect(unsaid.kept[0]?.added.map(({ name }) => name)).toEqual(["sort"]);
});

test("a collection keeps its table under another path, and two paths never share one", async () => {
  const moved = await changeTo(shelves(own, ["name"], "/racks"), [["/shelves", "/racks"]]);
  expect(moved.contract.collections[0]).toMatchObject({ path: "/racks", table: "shelves" });
  expect(moved.dropped).toEqual([]);
  const [dashed, plain] = [
    await readContract(shelves(own, ["name"], "/a-b")),
    await readContract(shelves(own, ["name"], "/a_b")),
  ];
  expect(dashed.collections[0]?.table).toBe("a_b");
  const named = withStoredNames(plain, {
    tables: new Map([["a_b", { path: "/a-b", columns: new Map() }]]),
  });
  expect(named.collections[0]?.table).toMatch(/^x_a_b_[0-9a-f]{16}$/);
});

test.each([
  [["kinds", "sort"], "the store's contract has no kinds"],
  [["kind", "sorts"], "the contract has no sorts"],
] as const)("the rename %p is refused", async (rename, reason) => {
  const { kind, ...others } = own;
  expect(await settled(changeTo(shelves({ ...others, sort: kind }), [rename]))).toThrow(reason);
});

test("a path that is renamed cannot be a new one at once", async () => {
  const { paths, ...others } = JSON.parse(shelves(own).text);
  const both = Object.fromEntries(
    ["/shelves", "/racks"].flatMap((path) => [
      [path, paths["/shelves"]],
      [
        `${path}/{id}`,
        {
          get: {
            parameters: [{ name: "id", in: "path", required: true, schema: {} }],
            responses: { 200: { description: "ok" } },
          },
        },
      ],
    ]),
  );
  const wanted = { text: JSON.stringify({ ...others, paths: both }) };
  expect(await settled(changeTo(wanted, [["/shelves", "/racks"]]))).toThrow(
    "/shelves becomes /racks, and its table has the former name until then; migrate to a contract without the new /shelves first",
  );
});

test("a new property cannot have the former name of another", async () => {
  const { kind, ...others } = own;
  const renamed = await changeTo(shelves({ ...others, sort: kind }), [["kind", "sort"]]);
  const again = await readContract(shelves({ ...own, sort: kind }));
  expect(() => compareContracts(renamed.contract, again)).toThrow(
    '"kind" of /shelves is "sort" now, and the history has it under its former name; give the new property another name',
  );
});
