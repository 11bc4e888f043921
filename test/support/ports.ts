// Ports for servers that are to be found again where they were.

/** Below the ports that systems give to outgoing connections: Linux from 32768 on, the others from 49152. */
const portMin = 20_000;
const portMax = 32_000;

/**
 * A port that is free now, and that no other process is given for an outgoing connection while its server is down. A
 * proxy that tries a port of that kind while nobody listens may even be connected with itself.
 */
export function steadyPort(): number {
  for (;;) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}
