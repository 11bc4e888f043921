// A connection to a simulated host, with the interface of a socket that node-postgres uses.

import { EventEmitter } from "node:events";
import type { SimulationParts } from "./environment.ts";
import type { PostgresCluster } from "./postgres-cluster.ts";
import { encodeError, encodeResult, Frontend, type Statement, welcome } from "./postgres-protocol.ts";

export class SimulatedSocket extends EventEmitter {
  writable = false;
  destroyed = false;
  readonly #frontend = new Frontend();
  readonly #cluster: PostgresCluster;
  readonly #parts: SimulationParts;
  #host = -1;
  /** Statements of one connection are executed one after the other. */
  #lastStatement: Promise<void> = Promise.resolve();
  /** The process id that the server sends at the start of a session. */
  readonly backend: number;
  /** Cancels the running statement. */
  #cancelStatement: (() => void) | undefined;
  /**
   * When the last bytes arrive at the server and at the client: bytes do not overtake each other.
   */
  #atServerAt = 0;
  #atClientAt = 0;

  constructor(cluster: PostgresCluster, parts: SimulationParts) {
    super();
    this.#cluster = cluster;
    this.#parts = parts;
    this.backend = cluster.nextBackend();
  }

  connect(_port: number, host: string): void {
    const { time, random } = this.#parts;
    this.#host = Number(host.replace("host", ""));
    this.#cluster.sockets.add(this);
    time.after(random.between(0.05, 1), () => {
      const state = this.#cluster.hostState(this.#host);
      if (state === "hangs" || this.destroyed) return;
      if (state === "down")
        return this.cut(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
      this.writable = true;
      this.emit("connect");
    });
  }

  write(bytes: Uint8Array, written?: () => void): boolean {
    const { time, random } = this.#parts;
    const copy = Buffer.from(bytes);
    this.#atServerAt = Math.max(this.#atServerAt, time.now() + random.between(0.05, 1));
    time.after(this.#atServerAt - time.now(), () => this.#arrive(copy));
    if (written !== undefined) time.after(0, written);
    return true;
  }

  /** The index of the host in the URL. */
  get host(): number {
    return this.#host;
  }

  /** Breaks the connection: executed statements stay executed, and no more bytes arrive. */
  cut(error?: Error): void {
    if (this.destroyed) return;
    this.destroyed = true;
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
    // Bytes that were sent before the connection broke may still arrive.
    for (const message of this.#frontend.read(bytes)) {
      if (message === "startup") this.#send(welcome(this.backend));
      else if (message === "terminate") this.cut();
      else if ("backend" in message) {
        for (const socket of this.#cluster.sockets)
          if (socket.host === this.#host && socket.backend === message.backend) socket.#cancelStatement?.();
        this.cut();
      } else this.#lastStatement = this.#lastStatement.then(() => this.#execute(message));
    }
  }

  async #execute(statement: Statement): Promise<void> {
    const { time, random, trace } = this.#parts;
    const fate = this.#cluster.drawFate(statement);
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<"cancelled">();
    this.#cancelStatement = () => cancel("cancelled");
    const worked = time.sleep(random.between(0.1, 2) + fate.stallMs);
    if ((await Promise.race([worked, cancelled])) === "cancelled") {
      trace(`host${this.#host}: cancelled`);
      return this.#send(encodeError("57014"));
    }
    if (fate.kind === "cutBefore") return this.cut(reset());
    const state = fate.kind === "error" ? fate.state : this.#cluster.rejectionState(this.#host, statement);
    if (state !== undefined) {
      trace(`host${this.#host}: ${state}`);
      this.#send(encodeError(state));
      if (state.startsWith("57P")) this.cut(reset());
      return;
    }
    const rows = await this.#cluster.execute(this, statement, cancelled);
    this.#cancelStatement = undefined;
    if (rows === undefined || fate.kind === "cutAfter") return this.cut(reset());
    const bytes = encodeResult(rows, statement);
    if (fate.kind === "cutWithin") this.#send(bytes.subarray(0, random.below(bytes.length)));
    else this.#send(bytes);
    if (fate.kind === "cutWithin") this.#parts.time.after(1, () => this.cut(reset()));
  }

  #send(bytes: Buffer): void {
    const { time, random } = this.#parts;
    this.#atClientAt = Math.max(this.#atClientAt, time.now() + random.between(0.05, 1));
    time.after(this.#atClientAt - time.now(), () => {
      if (!this.destroyed && this.#cluster.hostState(this.#host) !== "hangs") this.emit("data", bytes);
    });
  }
}

function reset(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
}
