// Sends hostile requests, and checks their outcomes.

import type { Target } from "../../support/http.ts";
import type { Load } from "../../support/load.ts";
import { RawConnection, rawAnswers } from "../../support/raw-connection.ts";
import { bodyOf, fill, firstId, type HostileRequest, smuggledId } from "./hostile-request.ts";
import { outcomesOf } from "./outcome.ts";

export class HostileClient {
  readonly #target: Target;
  readonly #load: Load;
  readonly #settled: () => Promise<void>;
  #nextId = firstId;

  /**
   * @param load records the plants that hostile requests create.
   * @param settled resolves when the server holds nothing of the requests that have ended.
   */
  constructor(target: Target, load: Load, settled = async () => {}) {
    this.#target = target;
    this.#load = load;
    this.#settled = settled;
  }

  /** An id that no other request of this client has. Ids repeat after 900,000. */
  nextId(): bigint {
    const id = this.#nextId++;
    if (this.#nextId === smuggledId) this.#nextId = firstId;
    return id;
  }

  /**
   * Sends all rows, `atOnce` at a time, and returns the errors of those with an outcome that is not
   * allowed.
   */
  async unexpected(rows: readonly HostileRequest[], atOnce = 16): Promise<string[]> {
    const found: string[] = [];
    const left = rows.values();
    const sender = async () => {
      for (const row of left) {
        const error = await this.#findError(row);
        if (error !== undefined) found.push(error);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, sender));
    await this.#settled();
    return found;
  }

  /**
   * Sends bytes on a new connection. Returns what is received until it is closed or the first
   * response is complete.
   */
  async exchange(bytes: string): Promise<string> {
    const connection = await RawConnection.open(this.#target.url);
    connection.write(bytes);
    await connection.until((received) => (rawAnswers(received).answers.length > 0 ? true : undefined));
    // Bytes after the first request have been read by now, as they were sent with it.
    connection.end();
    return connection.closed;
  }

  /** Records a plant that a hostile request has created. */
  acknowledged(id: bigint, json: string): void {
    this.#load.sent.set(id, json);
    this.#load.acknowledged.add(id);
  }

  async #findError({ name, bytes, allowed }: HostileRequest): Promise<string | undefined> {
    const id = this.nextId();
    const received = await this.exchange(fill(bytes, { id, token: this.#target.token }));
    const [first = "", ...later] = outcomesOf(received);
    const mayBeStored = first === "bare" && allowed.includes("destroySockets");
    if (first === "created") this.acknowledged(id, bodyOf(id));
    if (mayBeStored) this.#load.sent.set(id, bodyOf(id));
    const isAllowed = mayBeStored || (allowed as string[]).includes(first);
    // The remainder of a request must not be accepted as another one.
    const isExpected = isAllowed && later.every((outcome) => outcome === "bare");
    return isExpected
      ? undefined
      : `${name}: ${[first, ...later].join(", then ")}, not ${allowed.join(" or ")}`;
  }
}
