// An HTTP proxy in front of a server that spoils the first responses, one after another.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/**
 * "lost" closes the connection once the server has responded, "half" sends half of its body and
 * then nothing, "silent" forwards nothing and never responds; an object is the proxy's response.
 */
export type Fault =
  | "lost"
  | "half"
  | "silent"
  | { readonly status: number; readonly headers?: Record<string, string> };

interface ProxiedRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
}

export async function startFaultyProxy(target: string, faults: Fault[]) {
  const requests: ProxiedRequest[] = [];
  let faultsMet = 0;
  const meet = () => void faultsMet++;
  const respond = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "" } = incoming;
    const headers = new Headers(incoming.headers as Record<string, string>);
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const fault = faults[requests.length];
    // fetch itself repeats a request that is lost on a connection which it has used before.
    response.setHeader("Connection", "close");
    requests.push({ method, headers, body });
    if (fault === "silent") return meet();
    if (typeof fault === "object") {
      response.writeHead(fault.status, fault.headers).end("<html>of a proxy</html>", meet);
      return;
    }
    const answer = await fetch(target + url, { method, headers, ...(body === "" ? {} : { body }) });
    const bytes = await answer.bytes();
    if (fault === "lost") {
      incoming.socket.destroy();
      return meet();
    }
    answer.headers.delete("Connection");
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (fault === "half") response.write(bytes.subarray(0, bytes.length / 2), meet);
    else response.end(bytes);
  };
  const server = createServer((incoming, response) => void respond(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    /** All requests so far, in the order of their arrival. */
    requests: requests as readonly ProxiedRequest[],
    /** How many requests have met a fault that is complete on this side. */
    faultsMet: () => faultsMet,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
