// Sends hostile requests, and checks their outcomes.

import type { Target } from "../../support/http.ts";
import type { Load } from "../../support/load.ts";
import { rawAnswers } from "../../support/raw-answers.ts";
import { RawConnection } from "../../support/raw-connection.ts";
import { bodyOf, fill, firstId, type HostileRequest, smuggledId } from "./hostile-request.ts";
import { outcomesOf } from "./outcome.ts";

/** What a server says of the memory and the queue that it bounds. */
export interface ServerGauges {
  /** What cannot be, after a request as at any time: less than nothing, or no number. */
  wrong(): Promise<string | undefined>;
  /** Resolves once nothing is set aside and nothing waits, as after the last request: what leaked would never go. */
  atRest(): Promise<void>;
}

export class HostileClient {
  readonly #target: Target;
  readonly #load: Load;
  readonly #gauges: ServerGauges | undefined;
  #nextId = firstId;

  /**
   * @param load records the plants that hostile requests create.
   * @param gauges are looked at after every request.
   */
  constructor(target: Target, load: Load, gauges?: ServerGauges) {
    this.#target = target;
    this.#load = load;
    this.#gauges = gauges;
  }

  /** An id that no other request of this client has; after 900,000 of them the first one again. */
  nextId(): bigint {
    const id = this.#nextId++;
    if (this.#nextId === smuggledId) this.#nextId = firstId;
    return id;
  }

  /** Sends all rows, so many at once, and gives those that came to something else than they may. */
  async unexpected(rows: readonly HostileRequest[], atOnce = 16): Promise<string[]> {
    const found: string[] = [];
    const left = rows.values();
    const sender = async () => {
      for (const row of left) {
        const fault = await this.#findFault(row);
        if (fault !== undefined) found.push(fault);
        const wrong = await this.#gauges?.wrong();
        if (wrong !== undefined) found.push(`${row.name}, or what ran beside it: ${wrong}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sender));
    await this.#gauges?.atRest();
    return found;
  }

  /** What came back on a connection of its own, until the server closed it or its first answer was whole. */
  async exchange(bytes: string): Promise<string> {
    const connection = await RawConnection.open(this.#target.url);
    connection.write(bytes);
    await connection.until((received) => (rawAnswers(received).answers.length > 0 ? true : undefined));
    // What was behind a first request has been read by now, as it was sent along with it.
    connection.end();
    return connection.closed;
  }

  /** Records a plant that a hostile request has created. */
  acknowledged(id: bigint, json: string): void {
    this.#load.sent.set(id, json);
    this.#load.acknowledged.add(id);
  }

  async #findFault({ name, bytes, allowed }: HostileRequest): Promise<string | undefined> {
    const id = this.nextId();
    const received = await this.exchange(fill(bytes, { id, token: this.#target.token }));
    const [first = "", ...later] = outcomesOf(received);
    const mayBeStored = first === "bare" && allowed.includes("destroySockets");
    if (first === "created") this.acknowledged(id, bodyOf(id));
    if (mayBeStored) this.#load.sent.set(id, bodyOf(id));
    const isAllowed = mayBeStored || (allowed as string[]).includes(first);
    // Whatever is left of a request is none by itself.
    const isExpected = isAllowed && later.every((outcome) => outcome === "bare");
    return isExpected
      ? undefined
      : `${name}: ${[first, ...later].join(", then ")}, not ${allowed.join(" or ")}`;
  }
}
