// The shard map of Citus: the hash of an id, and its node.

import { expect, test } from "bun:test";
import { hashInt8, hashText, ShardMap } from "../../../../src/store/citus/shard-map.ts";

// SELECT hashint8(id) on PostgreSQL 15.
const vectors: readonly (readonly [id: bigint, hash: number])[] = [
  [0n, -272_711_505],
  [1n, -1_905_060_026],
  [-1n, 385_747_274],
  [2n, 1_134_484_726],
  [42n, 1_509_752_520],
  [-42n, -487_492_805],
  [2147483647n, -96_758_253],
  [2147483648n, -1_524_351_049],
  [4294967295n, 385_747_274],
  [4294967296n, -1_905_060_026],
  [-2147483648n, -1_524_351_049],
  [-2147483649n, -96_758_253],
  [-4294967296n, -272_711_505],
  [-4294967297n, -1_242_090_879],
  [9007199254740993n, -1_466_497_253],
  [-9007199254740993n, -57_130_114],
  [1234567890123456789n, 804_253_767],
  [9223372036854775807n, -1_524_351_049],
  [-9223372036854775807n, 1_859_433_618],
  [-9223372036854775808n, -96_758_253],
];

test.each([...vectors])("the hash of %p is that of hashint8", (id, hash) => {
  expect(hashInt8(id)).toBe(hash);
});

// SELECT hashtext(id COLLATE "C") on PostgreSQL 15.
test.each([
  ["", -1_477_818_771],
  ["a", 1_075_015_857],
  ["abc", -785_388_649],
  ["abcdefgh", -1_960_928_205],
  ["abcdefghi", -92_131_489],
  ["abcdefghijk", -1_483_803_693],
  ["abcdefghijkl", -1_586_087_212],
  ["abcdefghijklm", 405_849_808],
  ["018f3a5e-7c1b-7def-8123-456789abcdef", 306_401_075],
  ["01JDQ5V7Z8W9X0Y1A2B3C4D5E6", 18_388_125],
  ["grüße, 世界 🌱", -223_360_658],
  ["x".repeat(255), 1_893_536_167],
])("the hash of %j is that of hashtext", (id, hash) => {
  expect(hashText(id)).toBe(hash);
});

/** Four shards, which two nodes have in turn. */
const shards = [0, 1, 2, 3].map((index) => ({
  first: -(2 ** 31) + index * 2 ** 30,
  host: `worker${index % 2}`,
  port: 5432,
}));

test("the node is found by the range of the hash, with both of its ends", () => {
  const map = new ShardMap(shards);
  expect([...map.nodes.keys()]).toEqual(["worker0:5432", "worker1:5432"]);
  for (const [id, hash] of vectors) {
    const index = Math.floor((hash + 2 ** 31) / 2 ** 30);
    expect(map.nodeOf(id)).toBe(`worker${index % 2}:5432`);
  }
  const at = (boundary: number) =>
    new ShardMap([
      { first: -(2 ** 31), host: "low", port: 1 },
      { first: boundary, host: "high", port: 1 },
    ]).nodeOf(42n);
  expect(at(hashInt8(42n))).toBe("high:1");
  expect(at(hashInt8(42n) + 1)).toBe("low:1");
});
