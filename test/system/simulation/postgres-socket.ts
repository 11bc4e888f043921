// A connection to a simulated host, with the interface of the socket that node-postgres uses.

import { EventEmitter } from "node:events";
import type { EnvironmentParts } from "./environment.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";
import { errorOf, Frontend, resultOf, type Statement, welcome } from "./postgres-protocol.ts";

export class SimulatedSocket extends EventEmitter {
  writable = false;
  readonly #frontend = new Frontend();
  readonly #cluster: PostgresCluster;
  readonly #parts: EnvironmentParts;
  #host = -1;
  /** Statements of one connection are executed one after the other. */
  #serverTurn: Promise<void> = Promise.resolve();
  #ended = false;
  /** The parameters that the server reports after authentication. */
  readonly #backend: number;
  /** Ends what is executed at this moment. */
  #cancelStatement: (() => void) | undefined;
  /** When the last bytes arrive, or have arrived, there and here: none overtake others. */
  #thereAt = 0;
  #hereAt = 0;

  constructor(cluster: PostgresCluster, parts: EnvironmentParts) {
    super();
    this.#cluster = cluster;
    this.#parts = parts;
    this.#backend = cluster.nextBackend();
  }

  connect(_port: number, host: string): void {
    const { time, random } = this.#parts;
    this.#host = Number(host.replace("host", ""));
    this.#cluster.sockets.add(this);
    time.after(random.between(0.05, 1), () => {
      const state = this.#cluster.stateOf(this.#host);
      if (state === "hangs" || this.#ended) return;
      if (state === "down")
        return this.cut(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
      this.writable = true;
      this.emit("connect");
    });
  }

  write(bytes: Uint8Array, written?: () => void): boolean {
    const { time, random } = this.#parts;
    const copy = Buffer.from(bytes);
    this.#thereAt = Math.max(this.#thereAt, time.now() + random.between(0.05, 1));
    time.after(this.#thereAt - time.now(), () => this.#arrive(copy));
    if (written !== undefined) time.after(0, written);
    return true;
  }

  /** The host, by its place in the address. */
  get host(): number {
    return this.#host;
  }

  /** Breaks the connection: what was executed stays executed, and nothing more is heard. */
  cut(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.writable = false;
    this.#cluster.sockets.delete(this);
    this.#parts.time.after(0, () => {
      if (error !== undefined) this.emit("error", error);
      this.emit("close");
    });
  }

  end(): void {
    this.cut();
  }

  destroy(error?: Error): void {
    this.cut(error);
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}

  #arrive(bytes: Buffer): void {
    // What was sent before the connection broke may arrive all the same.
    for (const message of this.#frontend.read(bytes)) {
      if (message === "startup") this.#say(welcome(this.#backend));
      else if (message === "terminate") this.cut();
      else if ("backend" in message) {
        for (const socket of this.#cluster.sockets)
          if (socket.host === this.#host && socket.#backend === message.backend) socket.#cancelStatement?.();
        this.cut();
      } else this.#serverTurn = this.#serverTurn.then(() => this.#execute(message));
    }
  }

  async #execute(statement: Statement): Promise<void> {
    const { time, random, trace } = this.#parts;
    const fate = this.#cluster.fateOf(statement);
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<"cancelled">();
    this.#cancelStatement = () => cancel("cancelled");
    const worked = time.sleep(random.between(0.1, 2) + fate.stallMs);
    if ((await Promise.race([worked, cancelled])) === "cancelled") {
      trace(`host${this.#host}: cancelled`);
      return this.#say(errorOf("57014"));
    }
    if (fate.kind === "cutBefore") return this.cut(reset());
    const state = fate.kind === "error" ? fate.state : this.#cluster.refusalOf(this.#host, statement);
    if (state !== undefined) {
      trace(`host${this.#host}: ${state}`);
      this.#say(errorOf(state));
      if (state.startsWith("57P")) this.cut(reset());
      return;
    }
    const rows = await this.#cluster.execute(this.#host, statement, cancelled);
    this.#cancelStatement = undefined;
    if (rows === undefined || fate.kind === "cutAfter") return this.cut(reset());
    const bytes = resultOf(rows, statement);
    if (fate.kind === "cutWithin") this.#say(bytes.subarray(0, random.below(bytes.length)));
    else this.#say(bytes);
    if (fate.kind === "cutWithin") this.#parts.time.after(1, () => this.cut(reset()));
  }

  #say(bytes: Buffer): void {
    const { time, random } = this.#parts;
    this.#hereAt = Math.max(this.#hereAt, time.now() + random.between(0.05, 1));
    time.after(this.#hereAt - time.now(), () => {
      if (!this.#ended && this.#cluster.stateOf(this.#host) !== "hangs") this.emit("data", bytes);
    });
  }
}

function reset(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
}
