// The shard map of a Citus cluster: which node has the plant of an id. It only decides how fast a
// commit is: any node routes a statement to the shard, whose primary key makes ids unique, so an
// outdated map is slower and not wrong.

import type { Commits } from "../primary.ts";

/** The first version whose workers have the metadata, so that each of them can route. */
const citusVersionMin = 11;

/** The ids of the check of the hash. */
const edgeIds = [0n, 1n, -1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n, 2n ** 63n - 1n, -(2n ** 63n)];
const randomIds = 40;

/** Ids that are hashed to find one of a node: 20 ms. */
const idsTriedMax = 2n ** 16n;

/** Shards of one table; more are not distributed plants but a mistake. */
const shardsMax = 65_536;

const words = new BigInt64Array(1);
const halves = new Int32Array(words.buffer);
const [low, high] = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0];

/** PostgreSQL's hashint8, signed: the halves folded, as int4 and int8 agree, and Jenkins' mix. */
export function hashInt8(id: bigint): number {
  words[0] = id;
  const upper = halves[high] as number;
  let c = 0x9e3779b9 + 4 + 3_923_095;
  let b = c;
  let a = c + (((halves[low] as number) ^ (upper >= 0 ? upper : ~upper)) >>> 0);
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  return ((c ^ b) - rotate(b, 24)) | 0;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/** A node that has shards of the plants. */
export interface MappedNode {
  /** Its host and port. */
  readonly name: string;
  /** Citus' number of the node: a standby that takes over keeps it. */
  readonly groupId: number;
  readonly host: string;
  readonly port: number;
  /** Why statements cannot be sent to it directly; undefined if they can. */
  readonly unusable: string | undefined;
}

interface Shard {
  readonly shardId: string;
  readonly node: MappedNode;
}

/** Which node has the shard of an id. */
export class ShardMap {
  /** The nodes that have shards. */
  readonly nodes: readonly MappedNode[];
  /** The least hash of each shard, ascending; the shards have no gaps. */
  readonly #firstHashes: Int32Array;
  readonly #shards: readonly Shard[];

  private constructor(firstHashes: Int32Array, shards: readonly Shard[]) {
    this.#firstHashes = firstHashes;
    this.#shards = shards;
    this.nodes = [...new Set(shards.map(({ node }) => node))];
  }

  /** The map of a cluster; throws a MapError if it is not one that this program knows. */
  static parse({ version, partition, shards, nodes }: Metadata): ShardMap {
    assertDistributed(version, partition);
    if (shards.length === 0 || shards.length > shardsMax)
      throw new MapError(`pg_dist_shard has ${shards.length} shards of plants`);
    const nodeByGroup = new Map(nodes.map((node) => [node.group, toNode(node)]));
    let next = -(2 ** 31);
    const placed = shards.map(({ shard, first, last, group, placements }) => {
      const node = nodeByGroup.get(group ?? -1);
      if (first !== next || last < first)
        throw new MapError(`the ranges of its shards are not contiguous at shard ${shard}`);
      if (placements !== 1)
        throw new MapError(
          `the shard ${shard} has ${placements} placements; set citus.shard_replication_factor to 1 and distribute plants again`,
        );
      if (node === undefined) throw new MapError(`no node has the shard ${shard}; see pg_dist_node`);
      next = last + 1;
      return { shardId: shard, node };
    });
    if (next !== 2 ** 31) throw new MapError("the ranges of its shards do not cover all hashes");
    return new ShardMap(
      Int32Array.from(shards, ({ first }) => first),
      placed,
    );
  }

  nodeOf(id: bigint): MappedNode {
    return this.#shardOf(id).node;
  }

  /** The id of the shard of a plant, as get_shard_id_for_distribution_column returns it. */
  shardIdOf(id: bigint): string {
    return this.#shardOf(id).shardId;
  }

  /** The id of a plant of a node, which need not exist; undefined if none is found quickly. */
  anyIdOf(node: MappedNode): bigint | undefined {
    for (let id = 0n; id < idsTriedMax; id++) if (this.nodeOf(id) === node) return id;
    return undefined;
  }

  #shardOf(id: bigint): Shard {
    const hash = hashInt8(id);
    let [from, to] = [0, this.#firstHashes.length];
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      if ((this.#firstHashes[middle] as number) <= hash) from = middle;
      else to = middle;
    }
    return this.#shards[from] as Shard;
  }
}

/** Why a shard map cannot be used; the message is for operators. */
export class MapError extends Error {}

/** The metadata of the plants in Citus' catalog. */
export interface Metadata {
  readonly version: string;
  /** Null if the table is not distributed. */
  readonly partition: { readonly method: string; readonly column: string | null } | null;
  /** Ordered by their ranges. */
  readonly shards: readonly {
    readonly shard: string;
    readonly first: number;
    readonly last: number;
    readonly group: number | null;
    readonly placements: number;
  }[];
  readonly nodes: readonly {
    readonly group: number;
    readonly host: string;
    readonly port: number;
    readonly active: boolean;
    readonly metadata: boolean;
  }[];
}

// One statement, for one snapshot. Citus 11.0 keeps the placement of a shard that was moved, in
// another state than 1.
export const metadataSql = `SELECT json_build_object(
  'version', (SELECT extversion FROM pg_extension WHERE extname = 'citus'),
  'partition', (SELECT json_build_object('method', partmethod, 'column', CASE WHEN partkey IS NOT NULL THEN column_to_column_name(logicalrelid, partkey) END)
                FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass),
  'shards', (SELECT coalesce(json_agg(json_build_object('shard', shardid::text, 'first', shardminvalue::int8, 'last', shardmaxvalue::int8,
                                                        'group', groupid, 'placements', placements) ORDER BY shardminvalue::int8), '[]')
             FROM pg_dist_shard
             LEFT JOIN (SELECT shardid, min(groupid) AS groupid, count(*) AS placements FROM pg_dist_placement
                        WHERE shardstate = 1 GROUP BY shardid) placed USING (shardid)
             WHERE logicalrelid = 'plants'::regclass),
  'nodes', (SELECT json_agg(json_build_object('group', groupid, 'host', nodename, 'port', nodeport, 'active', isactive,
                                              'metadata', hasmetadata AND metadatasynced) ORDER BY groupid)
            FROM pg_dist_node WHERE noderole = 'primary'))::text AS metadata`;

function assertDistributed(version: string, partition: Metadata["partition"]): void {
  if (Number.parseInt(version, 10) < citusVersionMin)
    throw new MapError(`it is version ${version}; upgrade it to ${citusVersionMin} or newer`);
  if (partition === null)
    throw new MapError(
      "the table plants is not distributed; run SELECT create_distributed_table('plants', 'id')",
    );
  if (partition.method !== "h" || partition.column !== "id")
    throw new MapError(
      `the table plants is ${partition.column === null ? "not distributed by a column" : `distributed by ${partition.column}`}, and not by the hash of id; run SELECT undistribute_table('plants'), then SELECT create_distributed_table('plants', 'id')`,
    );
}

function toNode({ group, host, port, active, metadata }: Metadata["nodes"][number]): MappedNode {
  const unusable = !active
    ? "is not active; run SELECT citus_activate_node"
    : metadata
      ? undefined
      : "has no metadata; run SELECT start_metadata_sync_to_node";
  return {
    name: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    groupId: group,
    host,
    port,
    unusable: unusable === undefined ? undefined : `${unusable}('${host}', ${port})`,
  };
}

/** Compares the shards of some ids with what Citus says. */
export async function assertSameHash(map: ShardMap, source: Commits): Promise<void> {
  const ids = [...edgeIds, ...crypto.getRandomValues(new BigInt64Array(randomIds))];
  const { rows } = await source.once((pool) =>
    pool.query<{ id: string; shard: string }>(
      "SELECT id, get_shard_id_for_distribution_column('plants', id)::text AS shard FROM unnest($1::int8[]) AS ids (id)",
      [ids.map(String)],
    ),
  );
  const other = rows.find(({ id, shard }) => map.shardIdOf(BigInt(id)) !== shard);
  if (other !== undefined)
    throw new MapError(`its hash of the id ${other.id} is not hashint8, so plants cannot be sorted by node`);
}
