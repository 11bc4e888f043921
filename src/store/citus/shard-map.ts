// The shard map of a collection in a Citus cluster: which node has the plant of an id. It only decides how fast a
// commit is: any node of the cluster routes a statement to the shard, whose primary key makes ids
// unique, so an outdated map is slower and not wrong. A node that was removed and runs on knows of no
// later move, and commits to what it takes for the shard: docs/scaling.md says to stop it.

import type { PlantId } from "../../contract/plant-id.ts";
import type { Queries } from "../postgres/host-pool.ts";

const words = new BigInt64Array(1);
const halves = new Int32Array(words.buffer);
const [low, high] = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0];

/** PostgreSQL's hashint8, signed: the halves folded, as int4 and int8 agree, and Jenkins' mix. */
export function hashInt8(id: bigint): number {
  words[0] = id;
  const upper = halves[high] as number;
  const c = start + 4;
  return finalMix(c + (((halves[low] as number) ^ (upper >= 0 ? upper : ~upper)) >>> 0), c, c);
}

/** PostgreSQL's hashtext of a text that is compared by its bytes, signed: hash_bytes of its UTF-8. */
export function hashText(text: string): number {
  const bytes = Buffer.from(text);
  let a = (start + bytes.length) | 0;
  let [b, c] = [a, a];
  let at = 0;
  for (; bytes.length - at >= 12; at += 12) {
    a = (a + bytes.readInt32LE(at)) | 0;
    b = (b + bytes.readInt32LE(at + 4)) | 0;
    c = (c + bytes.readInt32LE(at + 8)) | 0;
    a = (a - c) ^ rotate(c, 4);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 6);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 8);
    b = (b + a) | 0;
    a = (a - c) ^ rotate(c, 16);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 19);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 4);
    b = (b + a) | 0;
  }
  // The lowest byte of the third word is left to the length.
  const rest = Buffer.alloc(12);
  bytes.copy(rest, 0, at, Math.min(at + 8, bytes.length));
  if (bytes.length > at + 8) bytes.copy(rest, 9, at + 8);
  return finalMix(a + rest.readInt32LE(0), b + rest.readInt32LE(4), c + rest.readInt32LE(8));
}

/** The start of Jenkins' hash, before the length is added. */
const start = 0x9e3779b9 + 3_923_095;

function finalMix(a: number, b: number, c: number): number {
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

/** A range of hashes, and the node that has its plants. */
export interface Shard {
  /** The least hash. */
  readonly first: number;
  readonly host: string;
  readonly port: number;
}

const shardsSql = `SELECT name AS table, shardminvalue::int4 AS first, nodename AS host, nodeport AS port
  FROM collections JOIN pg_dist_partition ON logicalrelid = to_regclass(quote_ident(name)) JOIN pg_dist_shard USING (logicalrelid)
  JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
  WHERE partmethod = 'h' AND shardstate = 1 AND noderole = 'primary'
  ORDER BY first, groupid`;

/** Reads the map of each collection that Citus has distributed by a hash, by its table. */
export async function readShardMaps(connection: Queries): Promise<Map<string, ShardMap>> {
  if (!(await isCitusInstalled(connection))) return new Map();
  const { rows } = await connection.query<Shard & { readonly table: string }>(shardsSql);
  const tables = Map.groupBy(rows, ({ table }) => table);
  return new Map([...tables].map(([table, shards]) => [table, new ShardMap(shards)]));
}

export async function isCitusInstalled(connection: Queries): Promise<boolean> {
  const { rows } = await connection.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'");
  return rows.length > 0;
}

export class ShardMap {
  /** Keyed by name, which is the host and the port. */
  readonly nodes: ReadonlyMap<string, Shard>;
  readonly #firstHashes: Int32Array;
  readonly #names: readonly string[];

  /** @param shards ordered by their hashes, at least one. */
  constructor(shards: readonly Shard[]) {
    this.#firstHashes = Int32Array.from(shards, ({ first }) => first);
    this.#names = shards.map(({ host, port }) => `${host}:${port}`);
    this.nodes = new Map(shards.map((shard, index) => [this.#names[index] as string, shard]));
  }

  /** The name of the node that has the plant of an id. */
  nodeOf(id: PlantId): string {
    const hash = typeof id === "bigint" ? hashInt8(id) : hashText(id);
    let [from, to] = [0, this.#firstHashes.length];
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      if ((this.#firstHashes[middle] as number) <= hash) from = middle;
      else to = middle;
    }
    return this.#names[from] as string;
  }
}
