// A simulated PostgreSQL: a primary, and a standby that a commit waits for or none; what they store, and how they fail.

import { newPlantJson } from "../../../src/contract/plant.ts";
import type { EnvironmentParts } from "./environment.ts";
import type { Rows, Statement } from "./postgres-protocol.ts";
import type { SimulatedSocket } from "./postgres-socket.ts";

interface Row {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

type HostState = "up" | "down" | "hangs";

/** What becomes of one statement. */
export interface Fate {
  readonly kind: "done" | "cutBefore" | "cutAfter" | "cutWithin" | "error";
  readonly state: string;
  readonly stallMs: number;
}

/** SQLSTATEs that a statement may end with, of every kind that the engine tells apart. */
const states = ["40001", "40P01", "53300", "57P01", "57014", "53100", "08006", "54000"];

/** How the batches' statements begin; see PostgresPlants and Primary. */
const isInsert = /^INSERT INTO plants \(id, name, tag\) VALUES/;
const isSelect = /^SELECT id, name, tag, current_setting/;
const isLock = /FOR KEY SHARE/;
const isCheck = /^SELECT current_setting\('transaction_read_only'\)/;
const isSettingsCheck = /^SELECT current_setting\('synchronous_commit'\)/;
const setsSynchronousCommit = /set_config\('synchronous_commit', 'on', true\)/;

export class PostgresCluster {
  readonly sockets = new Set<SimulatedSocket>();
  readonly hasStandby: boolean;
  /** Whether a commit waits for the standby only where its transaction has asked for that. */
  readonly #commitsWeakly: boolean;
  #backends = 0;
  /** When a statement was last refused for a reason that no second try helps with. */
  lastRefusalAt = Number.NEGATIVE_INFINITY;
  #rates: Readonly<Record<"cut" | "error" | "stall", number>> = calm;
  #primary = 0;
  readonly #hosts: HostState[] = ["up", "up"];
  /** What is committed, in its order; a standby has the first so many of them. */
  #log: Row[] = [];
  #replicated = 0;
  /** Counts the failovers: what was on its way to a standby before one has nowhere to arrive. */
  #timeline = 0;
  readonly #waiting: { until: number; resolve: (isSafe: boolean) => void }[] = [];
  /** The longest delay to the standby. */
  #slowestMs = 5;
  readonly #parts: EnvironmentParts;

  constructor(parts: EnvironmentParts) {
    this.#parts = parts;
    this.hasStandby = parts.random.chance(0.5);
    this.#commitsWeakly = parts.random.chance(0.5);
  }

  nextBackend(): number {
    return ++this.#backends;
  }

  stateOf(host: number): HostState {
    return this.#hosts[host] ?? "down";
  }

  /** Some of what can go wrong, until heal. */
  trouble(): void {
    const { random, trace } = this.#parts;
    const rate = () => (random.chance(0.5) ? random.between(0, 0.4) : 0);
    this.#slowestMs = random.pick([5, 300]);
    this.#rates = { cut: rate(), error: rate(), stall: rate() };
    const happening = random.below(4);
    trace(`cluster: ${happening} ${JSON.stringify(this.#rates)}`);
    if (happening === 1) this.#restartPrimary();
    if (happening === 2 && this.hasStandby) this.#failOver();
    if (happening === 3) this.#hosts[this.#primary] = "hangs";
  }

  heal(): void {
    this.#rates = calm;
    this.#hosts.fill("up");
  }

  fateOf({ sql }: Statement): Fate {
    const { random } = this.#parts;
    const { cut, error, stall } = this.#rates;
    const stallMs = random.chance(stall) ? random.between(1, 15_000) : 0;
    if (random.chance(cut))
      return { kind: random.pick(["cutBefore", "cutAfter", "cutWithin"] as const), state: "", stallMs };
    if (random.chance(error) && !isCheck.test(sql) && !isSettingsCheck.test(sql)) {
      const state = random.pick(states);
      if (/^5(?:3100|4)/.test(state)) this.lastRefusalAt = this.#parts.time.now();
      return { kind: "error", state, stallMs };
    }
    return { kind: "done", state: "", stallMs };
  }

  /** The SQLSTATE with which a host refuses a statement at this moment, if it does. */
  refusalOf(host: number, { sql }: Statement): string | undefined {
    if (isCheck.test(sql) || isSettingsCheck.test(sql)) return undefined;
    if (host !== this.#primary) return "25006";
    if (isInsert.test(sql) || isSelect.test(sql) || isLock.test(sql)) return undefined;
    return "42601";
  }

  /**
   * The rows that a statement gives once it is committed; undefined if its host is lost before that. To cancel it then
   * ends no more than the wait for the standby.
   */
  async execute(host: number, statement: Statement, cancelled: Promise<unknown>): Promise<Rows | undefined> {
    const { sql, values } = statement;
    if (isCheck.test(sql)) return checkRow(host !== this.#primary, this.#commitsWeakly);
    if (isSettingsCheck.test(sql)) return { columns: ["current_setting"], rows: [["on"]] };
    const committed = () => {
      if (!this.#waitsForStandby(statement)) return true;
      return Promise.race([this.#committed(), cancelled.then(() => true)]);
    };
    if (isSelect.test(sql)) return this.#select(values[0] ?? "");
    if (isLock.test(sql)) return (await committed()) ? { columns: ["?column?"], rows: [] } : undefined;
    const inserted = this.#insert(values);
    if (inserted.length > 0 && !(await committed())) return undefined;
    return { columns: ["*id"], rows: inserted.map(({ id }) => [String(id)]) };
  }

  /** What no failover can undo. */
  durable(): ReadonlyMap<bigint, string> {
    return new Map(this.#log.slice(0, this.#safeLength()).map((row) => [row.id, jsonOf(row)]));
  }

  durablePlant(id: bigint): string | undefined {
    const at = this.#log.findIndex((row) => row.id === id);
    const row = at < this.#safeLength() ? this.#log[at] : undefined;
    return row && jsonOf(row);
  }

  #safeLength(): number {
    return this.hasStandby ? this.#replicated : this.#log.length;
  }

  #insert(values: Statement["values"]): Row[] {
    const rows: Row[] = [];
    for (let at = 0; at < values.length; at += 3) {
      const [id = null, name = null, tag = null] = values.slice(at, at + 3);
      if (id === null || name === null) throw new Error("A row without an id or a name");
      const row = { id: BigInt(id), name, tag };
      if (!this.#log.some((other) => other.id === row.id)) {
        this.#log.push(row);
        rows.push(row);
      }
    }
    return rows;
  }

  #select(ids: string): Rows {
    const wanted = new Set([...ids.matchAll(/-?\d+/g)].map(([id]) => BigInt(id)));
    const standbys = this.hasStandby && this.#parts.mutation.concealsStandbys !== true ? "one" : "";
    const found = this.#log.filter(({ id }) => wanted.has(id));
    return {
      columns: ["*id", "name", "tag", "standbys"],
      rows: found.map(({ id, name, tag }) => [String(id), name, tag, standbys]),
    };
  }

  #waitsForStandby({ settings = "" }: Statement): boolean {
    const isAsked = this.#parts.mutation.ignoresSettings !== true && setsSynchronousCommit.test(settings);
    return isAsked || !this.#commitsWeakly;
  }

  /** Whether all that is committed at this moment has come to the standby, once that is known. */
  #committed(): Promise<boolean> {
    if (!this.hasStandby) return Promise.resolve(true);
    const [until, timeline] = [this.#log.length, this.#timeline];
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push({ until, resolve });
    this.#parts.time.after(this.#parts.random.between(0.1, this.#slowestMs), () => {
      if (timeline === this.#timeline) this.#replicate(until);
    });
    return promise;
  }

  #replicate(until: number): void {
    this.#replicated = Math.max(this.#replicated, until);
    for (const waiting of this.#waiting.filter((each) => each.until <= this.#replicated))
      waiting.resolve(true);
  }

  #restartPrimary(): void {
    this.#hosts[this.#primary] = "down";
    this.#loseConnections();
  }

  /** The standby takes over, with what it has. */
  #failOver(): void {
    this.#loseConnections();
    this.#log = this.#log.slice(0, this.#replicated);
    this.#timeline++;
    this.#hosts[this.#primary] = this.#parts.random.pick(["down", "up", "hangs"] as const);
    this.#primary = 1 - this.#primary;
  }

  #loseConnections(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(false);
    for (const socket of [...this.sockets]) if (socket.host === this.#primary) socket.cut();
  }
}

function jsonOf({ id, name, tag }: Row): string {
  return newPlantJson(tag === null ? { id, name } : { id, name, tag });
}

const calm = { cut: 0, error: 0, stall: 0 };

function checkRow(isReadOnly: boolean, commitsWeakly: boolean): Rows {
  return {
    columns: ["read_only", "encoding", "commits", "fsync", "full_pages"],
    rows: [[isReadOnly ? "on" : "off", "UTF8", commitsWeakly ? "local" : "on", "on", "on"]],
  };
}
