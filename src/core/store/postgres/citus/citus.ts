// Lanes of a Citus cluster: the shard map tells which node has a plant, and a batch goes straight to that node, whose local
// execution costs a fifth of the coordinator's processor time. The map only decides how fast a commit is: any node of Citus
// routes a statement to the shard, whose primary key makes ids unique, so a map that is out of date is slower and not wrong.

import type { NewEntry, OnUnavailable, Outcome, StoreEvents } from "../../plant-store.ts";
import type { HostPool } from "../connection.ts";
import type { PostgresUrl } from "../connection-url.ts";
import { classifyError, errorReason, isUndefinedTable, NoPrimary } from "../errors.ts";
import { PostgresPlants } from "../plants.ts";
import { type Commits, Primary, retry } from "../primary.ts";

/** The lane of all plants while the shard map cannot be used. */
const coordinatorLane = "coordinator";

/** The first version whose workers have the metadata, so that each of them can route. */
const citusVersionMin = 11;

/** The ids of the check of the hash. */
const edgeIds = [0n, 1n, -1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n, 2n ** 63n - 1n, -(2n ** 63n)];
const randomIds = 40;

/** Shards of one table; more are not distributed plants but a mistake. */
const shardsMax = 65_536;

/** How long a lane is without a commit, while batches wait for it, until plants no longer wait for it. */
const downMsMin = 1_000;

/** The time limit of a probe. */
const probeMsMax = 1_000;

/** After this long a node that only the coordinator reaches is given up; the pause between two probes of it. */
const reachPauseMs = 5_000;

/** Milliseconds between two reads of the shard map, and between two checks of the lanes. */
const defaultTiming = { mapMs: 1_000, lanesMs: 250 };

const words = new BigInt64Array(1);
const halves = new Int32Array(words.buffer);
const [low, high] = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0];

/** PostgreSQL's hashint8, as a signed number: the halves folded, so that int4 and int8 agree, and Jenkins' final mix. */
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
export interface CitusNode {
  /** That of its lane: host and port. */
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
  readonly node: CitusNode;
}

/** Which node has the shard of an id. */
export class ShardMap {
  /** Those that have shards. */
  readonly nodes: readonly CitusNode[];
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

  nodeOf(id: bigint): CitusNode {
    return this.#shardOf(id).node;
  }

  /** The id of the shard of a plant, as get_shard_id_for_distribution_column returns it. */
  shardIdOf(id: bigint): string {
    return this.#shardOf(id).shardId;
  }

  /** The least natural number that is the id of a plant of a node. */
  anyIdOf(node: CitusNode): bigint {
    let id = 0n;
    while (this.nodeOf(id) !== node) id++;
    return id;
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
class MapError extends Error {}

/** What Citus' catalog says of the plants. */
export interface Metadata {
  readonly version: string;
  /** Null if the table is not distributed. */
  readonly partition: { readonly method: string; readonly column: string | null } | null;
  /** By their ranges. */
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

// One statement, so that the parts are of one snapshot.
const metadataSql = `SELECT json_build_object(
  'version', (SELECT extversion FROM pg_extension WHERE extname = 'citus'),
  'partition', (SELECT json_build_object('method', partmethod, 'column', CASE WHEN partkey IS NOT NULL THEN column_to_column_name(logicalrelid, partkey) END)
                FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass),
  'shards', (SELECT coalesce(json_agg(json_build_object('shard', shardid::text, 'first', shardminvalue::int8, 'last', shardmaxvalue::int8,
                                                        'group', groupid, 'placements', placements) ORDER BY shardminvalue::int8), '[]')
             FROM pg_dist_shard
             LEFT JOIN (SELECT shardid, min(groupid) AS groupid, count(*) AS placements FROM pg_dist_placement GROUP BY shardid) placed USING (shardid)
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

function toNode({ group, host, port, active, metadata }: Metadata["nodes"][number]): CitusNode {
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

/** The reports of the lanes. */
export type CitusEvents = Pick<StoreEvents, "onUnavailable" | "onDegraded">;

/** The lanes of a cluster. Reads the shard map every second, and probes lanes that do not commit. */
export class CitusLanes {
  readonly #primary: Primary;
  readonly #url: PostgresUrl;
  readonly #events: CitusEvents;
  /** What the map was made from. */
  #metadata: string | undefined;
  #map: ShardMap | undefined;
  /** By name; empty while the map cannot be used. */
  #lanes = new Map<string, Lane>();
  #names: readonly string[] = [coordinatorLane];
  /** Lanes that the cluster no longer has, until their batches have ended. */
  readonly #retired = new Set<Lane>();
  #reported = new Set<string>();
  #onChange: () => void = () => undefined;
  #timers: readonly Timer[] = [];
  #reading: Promise<void> | undefined;
  #isClosed = false;

  private constructor(primary: Primary, url: PostgresUrl, events: CitusEvents) {
    this.#primary = primary;
    this.#url = url;
    this.#events = events;
  }

  /** Undefined if the database is not one of Citus. Rejects if it cannot be reached. */
  static async open(
    primary: Primary,
    url: PostgresUrl,
    events: CitusEvents,
    { mapMs, lanesMs } = defaultTiming,
  ): Promise<CitusLanes | undefined> {
    if (!url.usesCitusNodes || !(await primary.withRetry(hasCitus))) return undefined;
    const lanes = new CitusLanes(primary, url, events);
    await lanes.refresh();
    lanes.#timers = [
      setInterval(() => void lanes.refresh(), mapMs),
      setInterval(() => lanes.#checkLanes(), lanesMs),
    ];
    return lanes;
  }

  names(): readonly string[] {
    return this.#names;
  }

  laneOf(id: bigint): string {
    return this.#map === undefined ? coordinatorLane : this.#map.nodeOf(id).name;
  }

  downReason(lane: string): string | undefined {
    return this.#lanes.get(lane)?.downReason;
  }

  subscribe(onChange: () => void): void {
    this.#onChange = onChange;
  }

  /** Commits a batch in its lane; undefined if that is the coordinator's, or one that the cluster no longer has. */
  create(batch: readonly NewEntry[], lane: string): Promise<Outcome[]> | undefined {
    return this.#lanes.get(lane)?.create(batch);
  }

  /** Commits a transaction that changes nothing in a lane; undefined as for `create`. */
  assertWritable(lane: string): Promise<void> | undefined {
    return this.#lanes.get(lane)?.assertWritable();
  }

  /** Reads the shard map again. The map in use stays if no node can be asked; rejects only on an internal error. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#reading;
    await Promise.all([...this.#lanes.values(), ...this.#retired].map((lane) => lane.close()));
  }

  #checkLanes(): void {
    for (const lane of this.#lanes.values()) void lane.check();
  }

  async #read(): Promise<void> {
    try {
      const { metadata, source } = await this.#readMetadata();
      if (metadata === this.#metadata || this.#isClosed) return;
      const map = ShardMap.parse(JSON.parse(metadata) as Metadata);
      await assertSameHash(map, source);
      await this.#apply(map);
      this.#metadata = metadata;
    } catch (error) {
      const failure = classifyError(error);
      if (error instanceof MapError) await this.#apply(undefined, error.message);
      else if (failure === "internalError") throw error;
      else if (failure === "rejected" && this.#map === undefined)
        await this.#apply(undefined, `its catalog cannot be read: ${errorReason(error)}`);
      // Otherwise no node could be asked, or Citus changed the map meanwhile: the next read is soon enough.
    }
  }

  /** From the coordinator, or from another node while it is down: the map cannot change then. */
  async #readMetadata(): Promise<{ metadata: string; source: Commits }> {
    const statement = { text: metadataSql, query_timeout: probeMsMax };
    const read = async (source: Commits) => {
      const { rows } = await source.once((pool) => pool.query<{ metadata: string }>(statement));
      return { metadata: rows[0]?.metadata ?? "", source };
    };
    try {
      return await read(this.#primary);
    } catch (error) {
      const other = [...this.#lanes.values()].find(({ isDirect }) => isDirect);
      if (other === undefined) throw error;
      return read(other);
    }
  }

  async #apply(map: ShardMap | undefined, reason?: string): Promise<void> {
    const lanes = new Map(map?.nodes.map((node) => [node.name, this.#laneOfNode(node, map)]));
    // Plants wait for new lanes on the old ones, and not on the first connection.
    const added = [...lanes.values()].filter(({ name }) => !this.#lanes.has(name));
    await Promise.all(added.map((lane) => lane.check()));
    const old = [...this.#lanes.values()].filter((lane) => lanes.get(lane.name) !== lane);
    this.#map = map;
    this.#lanes = lanes;
    this.#names = map === undefined ? [coordinatorLane] : [...lanes.keys()];
    for (const lane of old) this.#retire(lane);
    if (reason !== undefined) this.#metadata = undefined;
    this.#update(reason);
  }

  #laneOfNode(node: CitusNode, map: ShardMap): Lane {
    const anyId = map.anyIdOf(node);
    const existing = this.#lanes.get(node.name);
    existing?.update(node, anyId);
    if (existing !== undefined) return existing;
    return new Lane(node, anyId, {
      url: this.#url,
      coordinator: this.#primary,
      onUnavailable: this.#events.onUnavailable,
      onChange: () => this.#update(),
      onOutdated: () => void this.refresh(),
    });
  }

  #retire(lane: Lane): void {
    this.#retired.add(lane);
    void lane.retire().then(() => this.#retired.delete(lane));
  }

  #update(reason?: string): void {
    const reasons = [reason, ...[...this.#lanes.values()].map(({ routedReason }) => routedReason)];
    this.#report(reasons.filter((text) => text !== undefined));
    this.#onChange();
  }

  /** Reports each reason once, until it has ended. */
  #report(reasons: readonly string[]): void {
    for (const reason of reasons)
      if (!this.#reported.has(reason)) this.#events.onDegraded(`Citus: ${reason}`);
    this.#reported = new Set(reasons);
  }
}

/** Compares the shards of some ids with what Citus says. */
async function assertSameHash(map: ShardMap, source: Commits): Promise<void> {
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

async function hasCitus(pool: HostPool): Promise<boolean> {
  const { rows } = await pool.query("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'");
  return rows.length > 0;
}

interface LaneDependencies {
  readonly url: PostgresUrl;
  readonly coordinator: Primary;
  readonly onUnavailable: OnUnavailable;
  /** Called after each change of downReason and routedReason. */
  readonly onChange: () => void;
  /** Called when the node shows that the shard map has changed. */
  readonly onOutdated: () => void;
}

/** The plants of one node: its connections, and whether it responds. */
class Lane implements Commits {
  readonly name: string;
  readonly #dependencies: LaneDependencies;
  readonly #direct: Primary;
  /** Connections to the coordinator of this lane alone, for a node that cannot be reached from here. */
  readonly #routed: Primary;
  readonly #plants: PostgresPlants;
  #node: CitusNode;
  #anyId: bigint;
  /** Undefined before the node was reached. */
  #route: "direct" | "routed" | undefined;
  #routedReason: string | undefined;
  #downReason: string | undefined;
  #batchesInFlight = 0;
  /** When a statement succeeded, or batches began to wait for one. */
  #respondedAt = performance.now();
  /** When the first of the probes failed that have all failed since. */
  #failingSince: number | undefined;
  #probing: Promise<void> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;
  #drained: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  /** @param anyId the id of a plant of the node, which need not exist. */
  constructor(node: CitusNode, anyId: bigint, dependencies: LaneDependencies) {
    this.name = node.name;
    this.#node = node;
    this.#anyId = anyId;
    this.#dependencies = dependencies;
    const { url, onUnavailable } = dependencies;
    const hosts = url.hosts.slice(0, 1).map((host) => ({ ...host, host: node.host, port: node.port }));
    this.#direct = new Primary({ ...url, hosts });
    this.#routed = new Primary(url);
    this.#plants = new PostgresPlants(this, (reason) => onUnavailable(`${this.name}: ${reason}`));
  }

  /** Why the node cannot commit, if it has not responded for so long that no plant should wait for it. */
  get downReason(): string | undefined {
    return this.#downReason;
  }

  /** Why its plants go through the coordinator; undefined if they do not. */
  get routedReason(): string | undefined {
    return this.#routedReason;
  }

  /** Whether its node responds to this server. */
  get isDirect(): boolean {
    return this.#route === "direct" && this.#downReason === undefined;
  }

  /** Takes over what a new shard map has. */
  update(node: CitusNode, anyId: bigint): void {
    if (node.unusable !== undefined) this.#route = "routed";
    if (node.unusable !== this.#node.unusable) this.#probedAt = Number.NEGATIVE_INFINITY;
    this.#node = node;
    this.#anyId = anyId;
  }

  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    if (this.#batchesInFlight++ === 0) this.#respondedAt = performance.now();
    try {
      return await this.#plants.create(batch);
    } finally {
      this.#batchesInFlight--;
      if (this.#batchesInFlight === 0) this.#drained?.resolve();
    }
  }

  /** Each attempt takes the way to the node that is known by then. */
  withRetry<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    return retry(() => this.once(work), this.#dependencies.url.retryMsMax);
  }

  async once<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    const connections = this.#connections();
    try {
      const result = await connections.once(work);
      this.#succeed();
      return result;
    } catch (error) {
      if (connections !== this.#direct || !isUndefinedTable(error)) throw error;
      // A node that was removed, or has lost its metadata, has no plants any more.
      this.#route = "routed";
      this.#dependencies.onOutdated();
      throw new NoPrimary(`${this.name}: ${errorReason(error)}`);
    }
  }

  /** Probes the node if it was not reached yet, does not respond, or holds up its batches. */
  async check(): Promise<void> {
    const isRouted = this.#route === "routed" && performance.now() - this.#probedAt >= reachPauseMs;
    const isFailing = this.#route === undefined || this.#failingSince !== undefined;
    if (isFailing || isRouted || this.#isHeldUp) await this.#probe();
  }

  /** Commits a transaction that changes nothing; rejects with the reason if that fails. */
  async assertWritable(): Promise<void> {
    await this.once((pool) => commitNothing(pool, this.#route === "routed" ? undefined : this.#node));
  }

  /** Sends the batches in flight through the coordinator from now on, and closes once they have ended. */
  async retire(): Promise<void> {
    this.#drained = Promise.withResolvers<void>();
    if (this.#batchesInFlight > 0) await this.#drained.promise;
    await this.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#direct.close(), this.#routed.close()]);
  }

  get #isHeldUp(): boolean {
    return this.#batchesInFlight > 0 && performance.now() - this.#respondedAt >= downMsMin;
  }

  #connections(): Commits {
    if (this.#drained !== undefined) return this.#dependencies.coordinator;
    return this.#route === "routed" ? this.#routed : this.#direct;
  }

  #probe(): Promise<void> {
    this.#probing ??= this.#findRoute().finally(() => {
      this.#probing = undefined;
      this.#probedAt = performance.now();
    });
    return this.#probing;
  }

  /** Finds out whether the node responds to this server, or to the coordinator alone. */
  async #findRoute(): Promise<void> {
    const error = await errorOf(this.#reachDirectly());
    const routedError = mayRoute(error) ? await errorOf(this.#reachByCoordinator()) : error;
    if (this.#isClosed) return;
    // A node that was reached before may only be slow, or starting.
    const failedMs = performance.now() - (this.#failingSince ?? performance.now());
    const mayUseRouted = this.#route !== "direct" || failedMs >= reachPauseMs;
    if (error === undefined || (routedError === undefined && mayUseRouted)) this.#use(error);
    else this.#fail(error);
  }

  async #reachDirectly(): Promise<void> {
    const { unusable } = this.#node;
    if (unusable !== undefined) throw new Error(unusable);
    await limitTime(this.#direct.once((pool) => commitNothing(pool, this.#node)));
  }

  async #reachByCoordinator(): Promise<void> {
    const statement = {
      text: "SELECT 1 FROM plants WHERE id = $1",
      values: [String(this.#anyId)],
      query_timeout: probeMsMax,
    };
    await limitTime(this.#routed.once((pool) => pool.query(statement)));
  }

  /** Uses the direct way, or that through the coordinator after an error. */
  #use(error: unknown): void {
    const before = this.#routedReason;
    this.#route = error === undefined ? "direct" : "routed";
    this.#routedReason =
      error === undefined
        ? undefined
        : `${this.name} cannot be used directly (${errorReason(error)}), so its plants go through the coordinator, which is slower`;
    this.#succeed();
    if (this.#routedReason !== before) this.#dependencies.onChange();
  }

  #succeed(): void {
    this.#respondedAt = performance.now();
    this.#failingSince = undefined;
    if (this.#downReason === undefined) return;
    this.#downReason = undefined;
    this.#dependencies.onChange();
  }

  #fail(error: unknown): void {
    const now = performance.now();
    this.#failingSince ??= now;
    const isDown = this.#route === undefined || this.#isHeldUp || now - this.#failingSince >= downMsMin;
    if (!isDown || this.#downReason !== undefined) return;
    this.#downReason = errorReason(error);
    this.#dependencies.onUnavailable(`${this.name}: ${this.#downReason}`);
    this.#dependencies.onChange();
    this.#dependencies.onOutdated();
  }
}

/**
 * Commits a transaction that changes nothing, and waits for the disk: a message to logical decoding, which has no reader.
 * Rejects if the server is not the node, or may not insert plants.
 */
async function commitNothing(pool: HostPool, node: CitusNode | undefined): Promise<void> {
  // The privilege is checked though no row is inserted.
  await pool.query({ text: "INSERT INTO plants (id, name) SELECT 0, '' WHERE false" });
  const statement = {
    text: `SELECT pg_logical_emit_message(true, 'plantstore', ''),
                  (SELECT count(*) FROM pg_dist_local_group JOIN pg_dist_node USING (groupid)
                   WHERE groupid = $1 AND nodename = $2 AND nodeport = $3) AS nodes`,
    values: [node?.groupId, node?.host, node?.port],
    query_timeout: probeMsMax,
  };
  const { rows } = await pool.query<{ nodes: string }>(statement);
  if (node !== undefined && rows[0]?.nodes !== "1")
    throw new Error("it is not the node of this name in pg_dist_node");
}

/** Whether the coordinator may be tried for a node: not if the node itself has refused to commit. */
function mayRoute(error: unknown): boolean {
  return error !== undefined && !(error instanceof NoPrimary && error.isRefusal);
}

/** The error of a promise; undefined if it succeeds. */
function errorOf(promise: Promise<void>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error) => error ?? new Error("unknown"),
  );
}

/** Rejects after the time limit of a probe. */
async function limitTime(promise: Promise<unknown>): Promise<void> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no response in ${probeMsMax} ms`)), probeMsMax);
  try {
    await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
