// A simulated PostgreSQL cluster: a primary, with or without a synchronous standby, their rows and
// their faults.

import { fieldNames, type PlantColumns, typeOf } from "../../../src/core/contract/fields.ts";
import { newPlantJson, toNewPlant } from "../../../src/core/contract/plant.ts";
import type { SimulationParts } from "./environment.ts";
import type { Rows, Statement } from "./postgres-protocol.ts";
import type { SimulatedSocket } from "./postgres-socket.ts";

type Row = PlantColumns & {
  readonly id: bigint;
};

type HostState = "up" | "down" | "hangs";

/** How one statement ends. */
export interface Fate {
  readonly kind: "done" | "cutBefore" | "cutAfter" | "cutWithin" | "error";
  readonly state: string;
  readonly stallMs: number;
}

/** SQLSTATEs of injected errors, of every class that the engine distinguishes. */
const states = ["40001", "40P01", "53300", "57P01", "57014", "53100", "08006", "54000"];

/** The statements of PostgresPlants and Primary. */
const isInsert = /^INSERT INTO plants \([a-z0-9_, ]+\) (?:VALUES|SELECT \$1::int8, \* FROM unnest)/i;
const isSelect = /^SELECT [a-z0-9_, ]+, pg_logical_emit_message\(true, /i;
const isCheck = /^SELECT current_setting\('transaction_read_only'\)/;
const isSettingsCheck = /^SELECT current_setting\('synchronous_commit'\)/;
const setsSynchronousCommit = /set_config\('synchronous_commit', 'on', true\)/;

export class PostgresCluster {
  readonly sockets = new Set<SimulatedSocket>();
  readonly hasStandby: boolean;
  /** Whether a commit waits for the standby only if its transaction has set synchronous_commit. */
  readonly #commitsWeakly: boolean;
  /** Whether the clients' process ids are not those of the backends. */
  readonly #hasPooler: boolean;
  /** Whether Citus is loaded, so that batches are lists of VALUES. */
  readonly #hasCitus: boolean;
  #backends = 0;
  /** When a statement was last rejected with an error that is not retried. */
  lastRejectionAt = Number.NEGATIVE_INFINITY;
  #rates: Readonly<Record<"cut" | "error" | "stall", number>> = calm;
  #primary = 0;
  readonly #hosts: HostState[] = ["up", "up"];
  /** The committed rows in order; the standby has the first `#replicated` of them. */
  #log: Row[] = [];
  #replicated = 0;
  /** The number of failovers: rows that were sent to a standby before a failover never arrive. */
  #timeline = 0;
  readonly #waiting: { until: number; resolve: (isSafe: boolean) => void }[] = [];
  /** The longest replication delay. */
  #slowestMs = 5;
  readonly #parts: SimulationParts;

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    this.hasStandby = parts.random.chance(0.5);
    this.#commitsWeakly = parts.random.chance(0.5);
    this.#hasPooler = parts.random.chance(0.25);
    this.#hasCitus = parts.random.chance(0.25);
  }

  nextBackend(): number {
    return ++this.#backends;
  }

  hostState(host: number): HostState {
    return this.#hosts[host] ?? "down";
  }

  /** Injects some of the possible faults, until heal. */
  injectFault(): void {
    const { random, trace } = this.#parts;
    const rate = () => (random.chance(0.5) ? random.between(0, 0.4) : 0);
    // The last one is longer than the time limit of a statement, so that the wait for the standby
    // is cut short.
    this.#slowestMs = random.pick([5, 300, 8_000]);
    this.#rates = { cut: rate(), error: rate(), stall: rate() };
    const event = random.below(4);
    trace(`cluster: ${event} ${JSON.stringify(this.#rates)}`);
    if (event === 1) this.#restartPrimary();
    if (event === 2 && this.hasStandby) this.#failOver();
    if (event === 3) this.#hosts[this.#primary] = "hangs";
  }

  heal(): void {
    this.#slowestMs = 5;
    this.#rates = calm;
    this.#hosts.fill("up");
  }

  drawFate({ sql }: Statement): Fate {
    const { random } = this.#parts;
    const { cut, error, stall } = this.#rates;
    const stallMs = random.chance(stall) ? random.between(1, 15_000) : 0;
    if (random.chance(cut))
      return { kind: random.pick(["cutBefore", "cutAfter", "cutWithin"] as const), state: "", stallMs };
    if (random.chance(error) && !isCheck.test(sql) && !isSettingsCheck.test(sql)) {
      const state = random.pick(states);
      if (/^5(?:3100|4)/.test(state)) this.lastRejectionAt = this.#parts.time.now();
      return { kind: "error", state, stallMs };
    }
    return { kind: "done", state: "", stallMs };
  }

  /** The SQLSTATE with which a host rejects a statement now, if it does. */
  rejectionState(host: number, { sql }: Statement): string | undefined {
    if (isCheck.test(sql) || isSettingsCheck.test(sql)) return undefined;
    if (host !== this.#primary) return "25006";
    if (isInsert.test(sql) || isSelect.test(sql)) return undefined;
    return "42601";
  }

  /**
   * Executes a statement, and returns its rows once it is committed; undefined if its host is lost
   * before. A cancel request then ends only the wait for the standby.
   */
  async execute(
    { host, backend }: Pick<SimulatedSocket, "host" | "backend">,
    statement: Statement,
    cancelled: Promise<unknown>,
  ): Promise<Rows | undefined> {
    const { sql, values } = statement;
    if (isCheck.test(sql)) return this.#check(host, backend);
    if (isSettingsCheck.test(sql)) return { columns: ["current_setting"], rows: [["on"]] };
    const committed = () => {
      if (!this.#waitsForStandby(statement)) return true;
      return Promise.race([this.#committed(), cancelled.then(() => true)]);
    };
    if (isSelect.test(sql)) {
      const selected = this.#select(String(values[0]));
      const isWritten = selected.rows.length > 0 && this.#parts.mutation.writesNoMessages !== true;
      return !isWritten || (await committed()) ? selected : undefined;
    }
    const inserted = this.#insert(values);
    if (inserted.length > 0 && !(await committed())) return undefined;
    return { columns: ["*id"], rows: inserted.map(({ id }) => [String(id)]) };
  }

  /** The rows that no failover can undo. */
  durable(): ReadonlyMap<bigint, string> {
    return new Map(this.#log.slice(0, this.#safeLength()).map((row) => [row.id, toJson(row)]));
  }

  durablePlant(id: bigint): string | undefined {
    const at = this.#log.findIndex((row) => row.id === id);
    const row = at < this.#safeLength() ? this.#log[at] : undefined;
    return row && toJson(row);
  }

  #safeLength(): number {
    return this.hasStandby ? this.#replicated : this.#log.length;
  }

  #insert(values: Statement["values"]): Row[] {
    const inserted: Row[] = [];
    for (const row of toRows(values)) {
      if (this.#log.some((other) => other.id === row.id)) continue;
      this.#log.push(row);
      inserted.push(row);
    }
    return inserted;
  }

  #check(host: number, backend: number): Rows {
    const isReadOnly = host !== this.#primary;
    const row = {
      read_only: isReadOnly ? "on" : "off",
      encoding: "UTF8",
      commits: this.#commitsWeakly ? "local" : "on",
      fsync: "on",
      full_pages: "on",
      version: "PostgreSQL 18.4",
      shards: this.#hasCitus ? "32" : null,
      backend: String(this.#hasPooler ? -backend : backend),
    };
    return { columns: Object.keys(row), rows: [Object.values(row)] };
  }

  #select(ids: string): Rows {
    const wanted = new Set([...ids.matchAll(/-?\d+/g)].map(([id]) => BigInt(id)));
    const found = this.#log.filter(({ id }) => wanted.has(id));
    return {
      columns: ["*id", ...fieldNames],
      rows: found.map((row) => [
        String(row.id),
        ...fieldNames.map((field) => (row[field] === null ? null : String(row[field]))),
      ]),
    };
  }

  #waitsForStandby({ settings }: Statement): boolean {
    const isAsked =
      this.#parts.mutation.ignoresSettings !== true && setsSynchronousCommit.test(settings ?? "");
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

function toJson(row: Row): string {
  return newPlantJson(toNewPlant(row.id, row));
}

const calm = { cut: 0, error: 0, stall: 0 };

/** The rows of an INSERT: the time of all, then a list of VALUES, or an array for each column. */
function toRows([_time, ...values]: Statement["values"]): Row[] {
  const columnNames = ["id", "creator", ...fieldNames];
  const width = columnNames.length;
  const columns = (
    values.every(Array.isArray)
      ? values
      : columnNames.map((_, column) => values.filter((_, index) => index % width === column))
  ) as (string | null)[][];
  const [ids = [], , ...columnsOfFields] = columns;
  return ids.map((id, index) => {
    const values = fieldNames.map((field, column) => {
      const text = columnsOfFields[column]?.[index] ?? null;
      return [field, text === null ? null : typeOf(field).fromColumn(text)];
    });
    const row = Object.fromEntries(values) as PlantColumns;
    if (id === null || row.name === null) throw new Error("A row without an id or a name");
    return { ...row, id: BigInt(id) };
  });
}
