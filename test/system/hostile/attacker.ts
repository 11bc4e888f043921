// Attacks paths over many connections, in a process of its own so that the test's client is not
// slowed down.

import { setPriority } from "node:os";
import { RawConnection } from "../../support/raw-connection.ts";

export const behaviours = ["never reads", "never finishes", "floods"] as const;
export type Behaviour = (typeof behaviours)[number];

export interface AttackedRequest {
  /** The listener's address. */
  readonly url: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Attack {
  readonly requests: readonly AttackedRequest[];
  readonly behaviour: Behaviour;
  /** The number of connections for each request. */
  readonly connections: number;
}

/** Requests on a connection that never reads the responses. */
const unreadRequests = 100;

class Attacker {
  readonly #attack: Attack;
  readonly #open = new Set<RawConnection>();
  readonly #aborted = new AbortController();

  constructor(attack: Attack) {
    this.#attack = attack;
  }

  /** Resolves when every connection has been opened once. */
  async start(): Promise<void> {
    const { requests, behaviour, connections } = this.#attack;
    const all = requests.flatMap((request) => Array<AttackedRequest>(connections).fill(request));
    if (behaviour === "floods") for (const request of all) void this.#flood(request);
    else await Promise.all(all.map((request) => this.#hold(request)));
  }

  stop(): void {
    this.#aborted.abort();
    for (const connection of this.#open) connection.terminate();
  }

  /** Holds one connection, and reopens it when it is closed. */
  async #hold(request: AttackedRequest): Promise<void> {
    const connection = await RawConnection.open(request.url).catch(() => undefined);
    if (this.#aborted.signal.aborted) return connection?.terminate();
    if (connection !== undefined) {
      this.#open.add(connection);
      if (this.#attack.behaviour === "never reads") connection.pause();
      connection.write(this.#bytes(request));
    }
    void this.#replace(connection, request);
  }

  async #replace(connection: RawConnection | undefined, request: AttackedRequest): Promise<void> {
    await connection?.closed;
    if (connection !== undefined) this.#open.delete(connection);
    await Bun.sleep(100);
    if (!this.#aborted.signal.aborted) await this.#hold(request);
  }

  #bytes({ url, method, path, headers, body }: AttackedRequest): string {
    const all = { Host: new URL(url).host, ...headers, "Content-Length": String(body.length) };
    const head = `${method} ${path} HTTP/1.1\r\n${Object.entries(all)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}`;
    if (this.#attack.behaviour === "never reads") return `${head}\r\n${body}`.repeat(unreadRequests);
    // An incomplete body if the request has one, else an incomplete head.
    return body === "" ? head : `${head}\r\n${body.slice(0, -1)}`;
  }

  async #flood({ url, method, path, headers, body }: AttackedRequest): Promise<void> {
    while (!this.#aborted.signal.aborted) {
      await fetch(url + path, {
        method,
        headers,
        decompress: false,
        redirect: "manual",
        signal: this.#aborted.signal,
        ...(body === "" ? {} : { body }),
      })
        .then((response) => response.arrayBuffer())
        .catch(() => Bun.sleep(10));
    }
  }
}

if (import.meta.main) {
  // An attacker has its own machine. Here it shares the processors, so it has the lowest priority.
  setPriority(19);
  let attacker: Attacker | undefined;
  process.on("message", async (attack: Attack | "stop") => {
    attacker?.stop();
    attacker = attack === "stop" ? undefined : new Attacker(attack);
    await attacker?.start();
    process.send?.("done");
  });
  process.on("disconnect", () => process.exit());
}
