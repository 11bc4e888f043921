// A TCP proxy that can stop forwarding without closing connections, as a hanging network does.

import type { Socket } from "bun";

interface Link {
  client: Socket<Link>;
  server: Socket<Link> | undefined;
  /** Bytes that the client sent before the way to the server was open. */
  early: Buffer[];
}

export class HangingProxy implements Disposable {
  readonly port: number;
  readonly #listener;
  readonly #links = new Set<Link>();
  #hangs = false;

  constructor(targetPort: number) {
    const forward = (to: Socket<Link> | undefined, chunk: Buffer) => {
      if (!this.#hangs) to?.write(chunk);
    };
    const end = (link: Link) => {
      this.#links.delete(link);
      link.client.end();
      link.server?.end();
    };
    this.#listener = Bun.listen<Link>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (client) => {
          const link: Link = { client, server: undefined, early: [] };
          client.data = link;
          this.#links.add(link);
          void Bun.connect<Link>({
            hostname: "127.0.0.1",
            port: targetPort,
            data: link,
            socket: {
              open: (server) => {
                link.server = server;
                for (const chunk of link.early) forward(server, chunk);
              },
              data: (_, chunk) => forward(client, Buffer.from(chunk)),
              close: () => end(link),
              error: () => end(link),
            },
          }).catch(() => end(link));
        },
        data: ({ data: link }, chunk) => {
          if (link.server === undefined) link.early.push(Buffer.from(chunk));
          else forward(link.server, chunk);
        },
        close: ({ data: link }) => end(link),
        error: ({ data: link }) => end(link),
      },
    });
    this.port = this.#listener.port;
  }

  /** Stops forwarding; data in flight is lost. */
  hang(): void {
    this.#hangs = true;
  }

  /** New connections work again; those that hung are reset, as they are when a network recovers. */
  recover(): void {
    this.#hangs = false;
    for (const link of [...this.#links]) {
      link.client.terminate();
      link.server?.terminate();
    }
  }

  [Symbol.dispose](): void {
    this.recover();
    this.#listener.stop(true);
  }
}
