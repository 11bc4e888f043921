// One node of a Citus cluster: a batch goes straight to the node that has its plants, which costs a
// fifth of the processor time of the coordinator's way.

import { withinTime } from "../../../time-limit.ts";
import type { NewEntry, OnUnavailable, Outcome } from "../../plant-store.ts";
import type { PostgresUrl } from "../connection-url.ts";
import { errorReason, isRefusal, isUndefinedTable, NoPrimary } from "../errors.ts";
import type { HostPool } from "../host-pool.ts";
import { PostgresPlants } from "../plants.ts";
import { type Commits, Primary, retry } from "../primary.ts";
import type { NodeStore } from "./node-queues.ts";
import type { MappedNode, ShardMap } from "./shard-map.ts";

/** After this long without a commit, while batches wait for it, plants no longer wait. */
const downMsMin = 1_000;

/** The time limit of a probe. */
export const probeMsMax = 1_000;

/** After this long a node that only the coordinator reaches is given up; also the probe's pause. */
const reachPauseMs = 5_000;

interface NodeDependencies {
  readonly url: PostgresUrl;
  readonly onUnavailable: OnUnavailable;
  /** Called after each change of routedReason. */
  readonly onRouteChanged: () => void;
  /** Called when the node shows that the shard map has changed. */
  readonly onOutdated: () => void;
}

/** The plants of one node: its connections, and whether it responds. */
export class CitusNode implements Commits, NodeStore {
  readonly name: string;
  readonly #dependencies: NodeDependencies;
  readonly #direct: Primary;
  /** Connections to the coordinator for this node alone, so that tokens keep theirs. */
  readonly #routed: Primary;
  readonly #plants: PostgresPlants;
  #node: MappedNode;
  #map: ShardMap;
  /** Undefined before the node was reached. */
  #route: "direct" | "routed" | undefined;
  #routedReason: string | undefined;
  #downReason: string | undefined;
  /** For each batch in flight: settles it as `unavailable` at once. */
  readonly #inFlight = new Set<() => void>();
  /** When a statement succeeded, or batches began to wait for one. */
  #respondedAt = performance.now();
  /** When the first of the current series of failed probes failed. */
  #failingSince: number | undefined;
  #probing: Promise<void> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;
  #isRetired = false;

  constructor(node: MappedNode, map: ShardMap, dependencies: NodeDependencies) {
    this.name = node.name;
    this.#node = node;
    this.#map = map;
    this.#dependencies = dependencies;
    const { url, onUnavailable } = dependencies;
    const hosts = url.hosts.slice(0, 1).map((host) => ({ ...host, host: node.host, port: node.port }));
    this.#direct = new Primary({ ...url, hosts });
    this.#routed = new Primary(url);
    this.#plants = new PostgresPlants(this, (reason) => onUnavailable(`${this.name}: ${reason}`));
  }

  /** False if plants should no longer wait for the node. */
  get isUp(): boolean {
    return this.#downReason === undefined;
  }

  /** Why its plants go through the coordinator; undefined if they do not. */
  get routedReason(): string | undefined {
    return this.#routedReason;
  }

  /** Whether its node responds to this server. */
  get isDirect(): boolean {
    return this.#route === "direct" && this.isUp;
  }

  /** Takes over what a new shard map has. */
  update(node: MappedNode, map: ShardMap): void {
    if (node.unusable !== undefined) this.#route = "routed";
    if (node.unusable !== this.#node.unusable) this.#probedAt = Number.NEGATIVE_INFINITY;
    this.#node = node;
    this.#map = map;
  }

  /**
   * Commits a batch. While the node is down every plant is `unavailable` at once, also in the
   * batches in flight: those are still retried, so that a plant may be stored.
   */
  create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome[]>();
    const giveUp = () => resolve(batch.map(() => "unavailable"));
    if (!this.isUp) {
      giveUp();
      return promise;
    }
    if (this.#inFlight.size === 0) this.#respondedAt = performance.now();
    this.#inFlight.add(giveUp);
    const committing = this.#plants.create(batch).finally(() => this.#inFlight.delete(giveUp));
    committing.then(resolve, reject);
    return promise;
  }

  /** Each attempt takes the latest known way. */
  withRetry<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    return retry(() => this.once(work), this.#dependencies.url.retryMsMax);
  }

  async once<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    const connections = this.#route === "routed" ? this.#routed : this.#direct;
    try {
      const result = await connections.once(work);
      this.#succeed();
      return result;
    } catch (error) {
      if (connections !== this.#direct || !isUndefinedTable(error)) throw error;
      // A node that was removed, or has lost its metadata, has no plants.
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
    if (this.#downReason !== undefined) throw new Error(this.#downReason);
    await this.once((pool) => commitNothing(pool, this.#route === "routed" ? undefined : this.#node));
  }

  /** Sends batches through the coordinator from now on: the node is probed no more. */
  retire(): void {
    this.#isRetired = true;
    this.#route = "routed";
  }

  async close(): Promise<void> {
    this.retire();
    await Promise.all([this.#direct.close(), this.#routed.close()]);
  }

  get #isHeldUp(): boolean {
    return this.#inFlight.size > 0 && performance.now() - this.#respondedAt >= downMsMin;
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
    // Not by the coordinator if the node itself has rejected the commit.
    const mayRoute = error !== undefined && !isRefusal(error);
    const routedError = mayRoute ? await errorOf(this.#reachByCoordinator()) : error;
    if (this.#isRetired) return;
    // A node that was reached before may only be slow, or starting.
    const failedMs = performance.now() - (this.#failingSince ?? performance.now());
    const mayUseRouted = this.#route !== "direct" || failedMs >= reachPauseMs;
    if (error === undefined || (routedError === undefined && mayUseRouted)) this.#use(error);
    else this.#fail(error);
  }

  async #reachDirectly(): Promise<void> {
    const { unusable } = this.#node;
    if (unusable !== undefined) throw new Error(unusable);
    const committing = this.#direct.once((pool) => commitNothing(pool, this.#node));
    await withinTime(committing, probeMsMax, "the node");
  }

  async #reachByCoordinator(): Promise<void> {
    const id = this.#map.anyIdOf(this.#node);
    // With so few plants, the batches may find out themselves.
    if (id === undefined) return;
    const statement = { text: "SELECT 1 FROM plants WHERE id = $1", values: [String(id)] };
    await withinTime(
      this.#routed.once((pool) => pool.query(statement)),
      probeMsMax,
      "the coordinator",
    );
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
    if (this.#routedReason !== before) this.#dependencies.onRouteChanged();
  }

  #succeed(): void {
    this.#respondedAt = performance.now();
    this.#failingSince = undefined;
    this.#downReason = undefined;
  }

  #fail(error: unknown): void {
    const now = performance.now();
    this.#failingSince ??= now;
    const isDown = this.#route === undefined || this.#isHeldUp || now - this.#failingSince >= downMsMin;
    if (!isDown || this.#downReason !== undefined) return;
    this.#downReason = errorReason(error);
    for (const giveUp of this.#inFlight) giveUp();
    this.#dependencies.onUnavailable(`${this.name}: ${this.#downReason}`);
    this.#dependencies.onOutdated();
  }
}

/**
 * Commits a transaction that changes nothing, and waits for the disk: a message to logical
 * decoding, which has no reader. Rejects if the server is another node, or may not insert plants.
 */
async function commitNothing(pool: HostPool, node: MappedNode | undefined): Promise<void> {
  // The privilege is checked though no row is inserted.
  await pool.query({ text: "INSERT INTO plants SELECT * FROM plants WHERE false" });
  const statement = {
    text: `SELECT pg_logical_emit_message(true, 'plantstore', ''),
                  (SELECT count(*) FROM pg_dist_local_group JOIN pg_dist_node USING (groupid)
                   WHERE groupid = $1 AND nodename = $2 AND nodeport = $3) AS nodes`,
    values: [node?.groupId, node?.host, node?.port],
  };
  const { rows } = await pool.query<{ nodes: string }>(statement);
  if (node !== undefined && rows[0]?.nodes !== "1")
    throw new Error("it is not the node of this name in pg_dist_node");
}

/** The error of a promise; undefined if it succeeds. */
function errorOf(promise: Promise<void>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error) => error ?? new Error("unknown"),
  );
}
