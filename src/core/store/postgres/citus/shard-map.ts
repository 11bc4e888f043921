// The shard map of a Citus cluster: which node has the plant of an id. It only decides how fast a
// commit is: any node routes a statement to the shard, whose primary key makes ids unique, so an
// outdated map is slower and not wrong.

/** The first version whose workers have the metadata, so that each of them can route. */
const citusVersionMin = 11;

/** Ids that are hashed to find one of a node: 20 ms. */
const idsTriedMax = 2n ** 16n;

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

/** Which node has the shard of an id. */
export class ShardMap {
  /** The nodes that have shards. */
  readonly nodes: readonly MappedNode[];
  /** The least hash of each shard, ascending. */
  readonly #firstHashes: Int32Array;
  /** The node of each shard. */
  readonly #nodes: readonly MappedNode[];

  private constructor(firstHashes: Int32Array, nodes: readonly MappedNode[]) {
    this.#firstHashes = firstHashes;
    this.#nodes = nodes;
    this.nodes = [...new Set(nodes)];
  }

  /** The map of a cluster; throws a MapError if it is not one that this program knows. */
  static parse({ version, partition, shards, nodes }: Metadata): ShardMap {
    assertDistributed(version, partition);
    if (shards.length === 0) throw new MapError("the table plants has no shards");
    const nodeByGroup = new Map(nodes.map((node) => [node.group, toNode(node)]));
    const placed = shards.map(({ shard, group, placements }) => {
      const node = nodeByGroup.get(group ?? -1);
      if (placements !== 1)
        throw new MapError(
          `the shard ${shard} has ${placements} placements; set citus.shard_replication_factor to 1 and distribute plants again`,
        );
      if (node === undefined) throw new MapError(`no node has the shard ${shard}; see pg_dist_node`);
      return node;
    });
    return new ShardMap(
      Int32Array.from(shards, ({ first }) => first),
      placed,
    );
  }

  nodeOf(id: bigint): MappedNode {
    const hash = hashInt8(id);
    let [from, to] = [0, this.#firstHashes.length];
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      if ((this.#firstHashes[middle] as number) <= hash) from = middle;
      else to = middle;
    }
    return this.#nodes[from] as MappedNode;
  }

  /** The id of a plant of a node, which need not exist; undefined if none is found quickly. */
  anyIdOf(node: MappedNode): bigint | undefined {
    for (let id = 0n; id < idsTriedMax; id++) if (this.nodeOf(id) === node) return id;
    return undefined;
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
  'shards', (SELECT coalesce(json_agg(json_build_object('shard', shardid::text, 'first', shardminvalue::int8,
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
