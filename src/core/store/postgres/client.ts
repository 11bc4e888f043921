// A connection to a host. When it is ended, the statement that it runs is cancelled on the server,
// which would not notice by itself.

import { isIP, type Socket } from "node:net";
import { Client, type ClientConfig, type Connection, type PoolClient } from "./driver.ts";
import { UnreplicatedCommit } from "./errors.ts";

/** How long a close waits for connections to end before it destroys their sockets. */
export const closeMsMax = 1_000;

/** The interval between cancel requests for a statement, until the server has ended it. */
const cancelPauseMs = 1_000;

/** How long to wait before the first cancel request: a failed statement ends by itself at once. */
const errorPauseMs = 20;

/** After this long without a response the statement is taken to have ended. */
const abandonedMsMax = 60_000;

/** Connections whose last commit did not wait for the synchronous standby. */
const unreplicated = new WeakSet<object>();

export function assertReplicated(connection: Connection): void {
  if (unreplicated.delete(connection)) throw new UnreplicatedCommit();
}

/** Members of node-postgres's Connection that its types lack. */
interface SessionStart {
  /** Sends the first message of a session. */
  startup: () => void;
  cancel(processId: number | null, secretKey: number | null): void;
}

/** A connection that the user of a pool releases. */
export type HostConnection = StoreClient & Pick<PoolClient, "release">;

export class StoreClient extends Client {
  // Members of node-postgres's Client that its types lack.
  declare readonly processID: number | null;
  declare readonly secretKey: number | null;
  declare readonly readyForQuery?: boolean;
  readonly #config: ClientConfig;

  /** @param config the options of its pool. */
  constructor(config: ClientConfig & { readonly onNew: (client: StoreClient) => void }) {
    super(config);
    this.#config = config;
    // The pool removes a broken connection; without a listener "error" would end the process.
    this.on("error", () => undefined);
    this.on("notice", ({ routine }) => {
      // The state is that of every warning, and the message depends on the server's language.
      if (routine === "SyncRepWaitForLSN") unreplicated.add(this.connection);
    });
    config.onNew(this);
  }

  get socket(): Socket {
    return this.connection.stream as Socket;
  }

  /** Whether a statement is running on the server, as far as is known. */
  get isBusy(): boolean {
    return this.readyForQuery === false && this.processID !== null && !this.socket.destroyed;
  }

  override end(callback?: (error: Error) => void): Promise<void> {
    return this.#end().then(callback as (() => void) | undefined);
  }

  async #end(): Promise<void> {
    if (this.isBusy) await this.#cancelUntilEnded();
    // A host that hangs does not close the connection.
    const deadline = setTimeout(() => this.socket.destroy(), closeMsMax);
    await super.end();
    clearTimeout(deadline);
  }

  /**
   * Resolves when the server has ended the statement. The connection stays open until then: once
   * the client has disconnected, PgBouncer cannot cancel its statement.
   */
  async #cancelUntilEnded(): Promise<void> {
    let changed = Promise.withResolvers<void>();
    const onChange = () => {
      changed.resolve();
      changed = Promise.withResolvers();
    };
    this.connection.on("readyForQuery", onChange).on("end", onChange);
    const deadline = performance.now() + abandonedMsMax;
    await Promise.race([changed.promise, pause(errorPauseMs)]);
    // Still busy if the next statement has begun.
    while (this.isBusy && performance.now() < deadline) {
      const { promise } = changed;
      await Promise.race([promise, this.#requestCancel()]);
      await Promise.race([promise, pause(cancelPauseMs)]);
    }
    // The backend is idle, and ends with its socket.
    this.socket.destroy();
  }

  /** Sends a cancel request on its own connection; resolves when it was received, or cannot be. */
  #requestCancel(): Promise<unknown> {
    const { ssl: tls, host = "" } = this.#config;
    // Keeps the address, because a name may have several. The certificate is for the name. The key
    // is not enumerable.
    const ssl = typeof tls === "object" && {
      ...tls,
      key: tls.key,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
    };
    const canceller = new Client({ ...this.#config, ssl, host: this.socket.remoteAddress ?? host });
    const connection = canceller.connection as unknown as SessionStart;
    connection.startup = () => connection.cancel(this.processID, this.secretKey);
    // The server closes the connection as its response.
    return canceller.connect().catch(() => undefined);
  }
}

/** Does not keep the process alive: what it waits for does. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
