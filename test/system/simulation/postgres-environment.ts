// The PostgreSQL engine with a database that fails: the real engine and the real client on a
// simulated network.

import { PostgresPlants } from "../../../src/core/store/postgres/plants.ts";
import { Primary } from "../../../src/core/store/postgres/primary.ts";
import { Database } from "../../../src/core/store/sqlite/driver.ts";
import { migrate } from "../../../src/core/store/sqlite/migrations.ts";
import { SqliteTokens } from "../../../src/core/store/sqlite/tokens.ts";
import type { Environment, ProcessStore, SimulationParts } from "./environment.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { SimulatedSocket } from "./postgres-socket.ts";

/** The defaults of parsePostgresUrl. */
const retryMsMax = 10_000;
const statementMsMax = 5_000;
const connectMsMax = 2_000;
const connectionsMax = 4;

export class PostgresEnvironment implements Environment {
  readonly engine = "postgres";
  readonly retryMsMax = retryMsMax;
  readonly #parts: SimulationParts;
  readonly #cluster: PostgresCluster;
  engineThrows = false;
  /** No exception is expected of this engine. Tokens are in a store without faults. */
  readonly violations: readonly string[] = [];
  readonly #tokens = new Database(":memory:", { strict: true, safeIntegers: true });

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    this.#cluster = new PostgresCluster(parts);
    migrate(this.#tokens, "the simulated tokens");
  }

  get lastRejectionAt(): number {
    return this.#cluster.lastRejectionAt;
  }

  start(): ProcessStore {
    const { trace, mutation } = this.#parts;
    const sockets = new Set<SimulatedSocket>();
    const stream = () => {
      const socket = new SimulatedSocket(this.#cluster, this.#parts);
      sockets.add(socket);
      return socket;
    };
    const hosts = ["host0", "host1"].map((host) => ({
      host,
      port: 5432,
      user: "plants",
      database: "plants",
      ssl: false,
      stream: stream as never,
      connectionTimeoutMillis: connectMsMax,
      query_timeout: statementMsMax,
    }));
    const primary = new Primary({
      hosts,
      connectionsMax,
      retryMsMax: mutation.dropsRetries === true ? -1 : retryMsMax,
      allowPlaintextFallback: false,
      acceptsTornPages: false,
      usesCitusNodes: false,
      isLoadBalanced: false,
      statements: "auto",
    });
    const plants = new PostgresPlants(primary, (reason) => trace(`unavailable: ${reason}`));
    return {
      batchesInFlightMax: connectionsMax,
      tokens: new SqliteTokens(this.#tokens),
      create: (batch) => plants.create(batch),
      kill: () => {
        for (const socket of sockets) socket.cut();
      },
      close: () => primary.close(),
    };
  }

  injectFault(): void {
    const { random, time } = this.#parts;
    this.#cluster.injectFault();
    this.engineThrows = random.chance(0.1);
    time.after(random.between(1, 3_000), () => this.heal());
  }

  heal(): void {
    this.#cluster.heal();
    this.engineThrows = false;
  }

  durablePlant(id: bigint): string | undefined {
    return this.#cluster.durablePlant(id);
  }

  durable(): ReadonlyMap<bigint, string> {
    return this.#cluster.durable();
  }

  close(): void {
    this.#tokens.close();
  }
}
