// Ports for servers that are stopped and started again on the same port, and whether one listens.

/** Below the ephemeral ports: Linux has them from 32768, other systems from 49152. */
const portMin = 20_000;
const portMax = 32_000;

/** Concurrent test processes start at different ports: 7,919 is a prime number. */
let nextPort = portMin + ((process.pid * 7_919) % (portMax - portMin));

/**
 * A free port outside the ephemeral range, so that no outgoing connection takes it while its server
 * is down. A proxy that connects to an ephemeral port without a listener may connect to itself.
 */
export function reservePort(): number {
  for (;;) {
    const port = nextPort;
    nextPort = port + 1 < portMax ? port + 1 : portMin;
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

/** Whether something accepts connections on a port of this machine. */
export async function acceptsConnections(port: number): Promise<boolean> {
  try {
    (await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } })).end();
    return true;
  } catch {
    return false;
  }
}
