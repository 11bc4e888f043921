// Attacks paths over many connections, in a process of its own so that the test's client is not
// slowed down: bun attacker.ts ATTACK.

import { setPriority } from "node:os";
import { RawConnection } from "../../support/raw-connection.ts";

export interface AttackedRequest {
  /** The listener's address. */
  readonly url: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const behaviours = ["never reads", "never finishes", "floods"] as const;

export interface Attack {
  readonly requests: readonly AttackedRequest[];
  readonly behaviour: (typeof behaviours)[number] | "sends in pieces";
  /** The number of connections for each request. */
  readonly connections: number;
  /** The length of bodies that are sent in pieces, of which the last byte never comes. */
  readonly bodyBytes?: number;
}

const piece = Buffer.alloc(65_536, " ");
const pieceMs = 300;

/** Requests on a connection that never reads the responses. */
const unreadRequests = 100;

function bytesOf({ url, method, path, headers, body }: AttackedRequest, attack: Attack): string {
  const { behaviour, bodyBytes = body.length } = attack;
  const framing = headers["Transfer-Encoding"] === undefined ? { "Content-Length": String(bodyBytes) } : {};
  const all = { Host: new URL(url).host, ...headers, ...framing };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\n${fields.join("")}`;
  if (behaviour === "sends in pieces")
    return `${head}\r\n${framing["Content-Length"] === undefined ? `${bodyBytes.toString(16)}\r\n` : ""}`;
  if (behaviour === "never reads") return `${head}\r\n${body}`.repeat(unreadRequests);
  // An incomplete body if the request has one, else an incomplete head.
  return body === "" ? head : `${head}\r\n${body.slice(0, -1)}`;
}

/** Resolves when every connection was opened: bodies in pieces all begin at once. */
const allOpened = Promise.withResolvers<void>();

/** Holds one connection, and reopens it when it is closed. */
async function hold(request: AttackedRequest, attack: Attack, onOpen: () => void): Promise<never> {
  for (;;) {
    const connection = await RawConnection.open(request.url).catch(() => undefined);
    onOpen();
    if (attack.behaviour === "sends in pieces") await allOpened.promise;
    if (attack.behaviour === "never reads") connection?.pause();
    connection?.write(bytesOf(request, attack));
    if (connection !== undefined && attack.bodyBytes !== undefined)
      await Promise.race([connection.closed, sendPieces(connection, attack.bodyBytes)]);
    await connection?.closed;
    await Bun.sleep(100);
  }
}

async function sendPieces(connection: RawConnection, bodyBytes: number): Promise<void> {
  for (let left = bodyBytes - 1; left > 0; left -= piece.length) {
    connection.write(piece.subarray(0, left));
    await Bun.sleep(pieceMs);
  }
}

async function flood({ url, path, body, ...init }: AttackedRequest, onOpen: () => void): Promise<never> {
  for (;;) {
    const options = {
      ...init,
      decompress: false,
      redirect: "manual",
      ...(body === "" ? {} : { body }),
    } as const;
    await fetch(url + path, options)
      .then((response) => response.arrayBuffer())
      .catch(() => Bun.sleep(10));
    onOpen();
  }
}

if (import.meta.main) {
  // An attacker has its own machine. Here it shares the processors, so it has the lowest priority.
  setPriority(19);
  const attack: Attack = JSON.parse(process.argv[2] ?? "");
  const all = attack.requests.flatMap((request) => Array<AttackedRequest>(attack.connections).fill(request));
  await Promise.all(
    all.map(
      (request) =>
        new Promise<void>((opened) => {
          void (attack.behaviour === "floods" ? flood(request, opened) : hold(request, attack, opened));
        }),
    ),
  );
  allOpened.resolve();
  process.stdout.write("every connection was opened\n");
}
