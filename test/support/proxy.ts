// A TCP proxy that can stop forwarding without closing connections, as a hanging network does.

import { connect, createServer, type Socket } from "node:net";

/** Starts a proxy in front of a port of this machine. */
export async function startHangingProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let network = { hangs: false };
  const forward = (from: Socket, to: Socket) => {
    const state = network;
    sockets.add(from);
    from.on("data", (chunk) => {
      if (!state.hangs) to.write(chunk);
    });
    from.on("error", () => undefined);
    from.on("close", () => {
      sockets.delete(from);
      to.end();
    });
  };
  const listener = createServer((client) => {
    const server = connect(targetPort, "127.0.0.1");
    forward(client, server);
    forward(server, client);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const recover = () => {
    network = { hangs: false };
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (listener.address() as { port: number }).port,
    /** Stops forwarding; data in flight is lost. */
    hang: () => {
      network.hangs = true;
    },
    /** New connections work again; those that hung stay silent, as those to a host that is gone. */
    replace: () => {
      network = { hangs: false };
    },
    /** New connections work again; those that hung are reset, as when a network recovers. */
    recover,
    [Symbol.dispose]: () => {
      recover();
      listener.close();
    },
  };
}
