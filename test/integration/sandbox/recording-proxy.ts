// A TCP proxy that records the bytes of each connection, by Node's sockets.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

/** The bytes of a connection, in both directions. */
export interface ProxiedConnection {
  sent: Buffer;
  received: Buffer;
}

export class RecordingProxy implements Disposable {
  /** In the order in which they were opened. */
  readonly connections: ProxiedConnection[] = [];
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Starts a proxy in front of the host and port of an address. */
  static async start(url: string): Promise<RecordingProxy> {
    const { hostname, port } = new URL(url);
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = new RecordingProxy(server);
    server.on("connection", (client) => {
      const connection: ProxiedConnection = { sent: Buffer.alloc(0), received: Buffer.alloc(0) };
      proxy.connections.push(connection);
      const target = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      client.on("data", (chunk: Buffer) => {
        connection.sent = Buffer.concat([connection.sent, chunk]);
      });
      target.on("data", (chunk: Buffer) => {
        connection.received = Buffer.concat([connection.received, chunk]);
      });
      client.on("error", () => target.destroy());
      target.on("error", () => client.destroy());
      target.on("connect", () => {
        client.pipe(target);
        target.pipe(client);
      });
    });
    return proxy;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}
