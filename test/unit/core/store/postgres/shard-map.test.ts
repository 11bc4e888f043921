// The shard map of Citus: the hash of an id, and the catalogs that are not used.

import { describe, expect, test } from "bun:test";
import { hashInt8, type Metadata, ShardMap } from "../../../../../src/core/store/postgres/citus/shard-map.ts";

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

const [worker1, worker2] = [
  { group: 1, host: "worker1", port: 5432, active: true, metadata: true },
  { group: 2, host: "fd00::2", port: 5433, active: true, metadata: true },
];

/** Four shards, which two nodes have in turn. */
const cluster: Metadata = {
  version: "12.1-1",
  partition: { method: "h", column: "id" },
  shards: [0, 1, 2, 3].map((index) => ({
    shard: `10200${index}`,
    first: -(2 ** 31) + index * 2 ** 30,
    group: 1 + (index % 2),
    placements: 1,
  })),
  nodes: [{ group: 0, host: "coordinator", port: 5432, active: true, metadata: true }, worker1, worker2],
};

describe("a shard map", () => {
  const map = ShardMap.parse(cluster);

  test("has the nodes with shards, and not the others", () => {
    expect(map.nodes.map(({ name }) => name)).toEqual(["worker1:5432", "[fd00::2]:5433"]);
  });

  test("finds the node by the range of the hash, with both of its ends", () => {
    for (const [id, hash] of vectors) {
      const index = Math.floor((hash + 2 ** 31) / 2 ** 30);
      expect(map.nodeOf(id).groupId).toBe(1 + (index % 2));
    }
    const [first = 0n] = vectors.find(([id]) => id === 42n) ?? [];
    const at = (boundary: number) => {
      const [low, high] = [cluster.shards[0], cluster.shards[3]];
      const shards = [low, { ...high, first: boundary }] as Metadata["shards"];
      return ShardMap.parse({ ...cluster, shards }).nodeOf(first).groupId;
    };
    expect(at(hashInt8(first))).toBe(2);
    expect(at(hashInt8(first) + 1)).toBe(1);
  });

  test("names a plant of each node", () => {
    for (const node of map.nodes) expect(map.nodeOf(map.anyIdOf(node) ?? -1n)).toBe(node);
  });

  test("tells which nodes cannot be used directly, and what to do", () => {
    const nodes = [
      { ...worker1, metadata: false },
      { ...worker2, active: false },
    ];
    expect(ShardMap.parse({ ...cluster, nodes }).nodes.map(({ unusable }) => unusable)).toEqual([
      "has no metadata; run SELECT start_metadata_sync_to_node('worker1', 5432)",
      "is not active; run SELECT citus_activate_node('fd00::2', 5433)",
    ]);
  });
});

/** A cluster with a change to one shard. */
function withShard(index: number, change: Partial<Metadata["shards"][number]>): Metadata {
  return {
    ...cluster,
    shards: cluster.shards.map((shard, at) => (at === index ? { ...shard, ...change } : shard)),
  };
}

test.each<[string, Metadata, RegExp]>([
  ["an old version", { ...cluster, version: "10.2-4" }, /version 10.2-4; upgrade/],
  ["a local table", { ...cluster, partition: null }, /not distributed; run SELECT create_distributed_table/],
  [
    "a reference table",
    { ...cluster, partition: { method: "n", column: null } },
    /not distributed by a column/,
  ],
  ["another column", { ...cluster, partition: { method: "h", column: "name" } }, /distributed by name/],
  ["ranges of values", { ...cluster, partition: { method: "r", column: "id" } }, /not by the hash of id/],
  ["no shard", { ...cluster, shards: [] }, /no shards/],
  ["a shard without a placement", withShard(2, { placements: 0, group: null }), /102002 has 0 placements/],
  [
    "two copies",
    withShard(2, { placements: 2 }),
    /102002 has 2 placements; set citus.shard_replication_factor/,
  ],
  ["a shard of no node", withShard(3, { group: 9 }), /no node has the shard 102003/],
])("%s is not used, with the reason", (_, metadata, reason) => {
  expect(() => ShardMap.parse(metadata)).toThrow(reason);
});
