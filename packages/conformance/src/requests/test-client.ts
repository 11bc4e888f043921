// Sends requests to the server under test, and records what was sent and received.

import { setTimeout as wait } from "node:timers/promises";
import { describeFailure, type RuleFailure } from "../failures/failure.ts";
import type { Transcript } from "../failures/transcript-text.ts";
import {
  exchange,
  type HttpResponse,
  type RequestParts,
  type SentRequest,
  sharedConnection,
} from "../wire/exchange.ts";
import { RuleSkipped, RuleViolation } from "../wire/rule-ends.ts";
import type { Contents } from "./contents.ts";
import type { RunState, Target } from "./run-state.ts";

/** How often a request is repeated after 429 or 503, and the longest wait before that. */
const busyRetriesMax = 3;
const retryMsMax = 5_000;

export class TestClient {
  readonly state: RunState;
  #transcripts: Transcript[] = [];
  /** The connection of all requests; each has its own by default. */
  #connection: ReturnType<typeof sharedConnection> | undefined;

  constructor(state: RunState) {
    this.state = state;
  }

  get contents(): Contents {
    return this.state.contents;
  }

  get target(): Target {
    return this.state.target;
  }

  /** Whether a response since `forget` has rejected a request, and none has accepted one. */
  protected get hasOnlyRejections(): boolean {
    const statuses = this.#transcripts.map(({ response }) => response?.status ?? 0);
    return statuses.some((status) => status >= 400) && !statuses.some((status) => status > 0 && status < 300);
  }

  /** Forgets the requests and responses up to now. */
  protected forget(): void {
    this.#transcripts = [];
  }

  /** Describes a violation with the requests since `forget`, or with others. */
  protected describe(
    { message }: RuleViolation,
    label?: string,
    transcripts: readonly Transcript[] = this.#transcripts,
  ): RuleFailure {
    return describeFailure(label, message, transcripts, { ...this.target, secrets: this.state.secrets });
  }

  /** A new id. */
  id(): bigint {
    return this.state.ids.next();
  }

  /** A plant as JSON, with a new id. */
  plant(name = "Monstera", tag?: string): string {
    return this.contents.plantJson(this.id(), name, tag);
  }

  /** A request: a create, unless fields are given. */
  #requestOf({
    method = "POST",
    path = this.contents.collection.path,
    headers = {},
    body,
  }: RequestParts): SentRequest {
    const { url, token } = this.target;
    const fields: Record<string, string | null> = {
      "User-Agent": "plantstore-conformance",
      Accept: "application/json",
      ...this.contents.credentials(token),
      "Idempotency-Key":
        this.contents.collection.requiresKey && method === "POST" ? `key-${this.id()}` : null,
      "Content-Type": body === undefined ? null : "application/json",
      ...headers,
    };
    const sent = Object.entries(fields).filter((each): each is [string, string] => each[1] !== null);
    return {
      method,
      target: `${url.pathname.replace(/\/$/, "")}${path}`,
      headers: Object.fromEntries(sent),
      body: Buffer.from(body ?? ""),
    };
  }

  create(body: string | Uint8Array, headers: RequestParts["headers"] = {}): Promise<HttpResponse> {
    return this.send({ body, headers });
  }

  /** Sends a request, again if the server is busy. */
  async send(parts: RequestParts): Promise<HttpResponse> {
    for (let retries = 0; ; retries++) {
      const response = await this.#sendOnce(parts);
      const { status } = response;
      if (status !== 429 && status !== 503) return response;
      const waitMs = retryAfterMs(response);
      if (retries === busyRetriesMax || waitMs > retryMsMax) {
        // A server may always be over its limits, but a rate is a setting of its operator.
        if (status === 503) return response;
        throw new RuleSkipped("the server limits the rate: it responded with 429");
      }
      await wait(waitMs);
    }
  }

  /** @param hold sends the last byte of the body when the others have sent theirs. */
  async #sendOnce(parts: RequestParts, hold?: (sendLast: () => void) => void): Promise<HttpResponse> {
    const request = this.#requestOf(parts);
    const options = { agent: this.#connection, hold };
    const received = await exchange(request, this.target, this.state.limits, options);
    const response = "problem" in received ? undefined : received;
    const transcript = { request, response, isConcurrent: hold !== undefined };
    this.#transcripts.push(transcript);
    this.state.unanswered = response === undefined ? this.state.unanswered + 1 : 0;
    if ("problem" in received) throw new RuleViolation(received.problem);
    const describe = (violation: RuleViolation) => this.describe(violation, undefined, [transcript]);
    for (const watch of this.state.watches) watch.observe(received, parts, describe);
    return received;
  }

  /** Sends the requests of a call on one connection. */
  async onOneConnection<T>(send: () => Promise<T>): Promise<T> {
    this.#connection = sharedConnection(this.target);
    try {
      return await send();
    } finally {
      this.#connection.destroy();
      this.#connection = undefined;
    }
  }

  /**
   * Sends creates at the same time: the last byte of each is held back until the others have sent
   * theirs. Returns the responses in the order of the bodies.
   */
  async together(bodies: readonly string[], headers: RequestParts["headers"] = {}): Promise<HttpResponse[]> {
    const held: (() => void)[] = [];
    let left = bodies.length;
    const release = () => {
      left--;
      if (left <= 0) for (const sendLast of held.splice(0)) sendLast();
    };
    const hold = (sendLast: () => void) => {
      held.push(sendLast);
      release();
    };
    const all = bodies.map((body) => this.#sendOnce({ body, headers }, hold));
    // A create that fails before its last byte must not keep the others waiting.
    for (const each of all) each.catch(release);
    await Promise.allSettled(all);
    const responses = await Promise.all(all);
    const busy = responses.find(({ status }) => status === 429 || status === 503);
    if (busy === undefined) return responses;
    throw new RuleSkipped(`the server limits the rate: it responded with ${busy.status}`);
  }
}

/** The Retry-After of a response in milliseconds; a second where there is none. */
function retryAfterMs({ headers }: HttpResponse): number {
  const seconds = Number(headers["retry-after"] ?? 1);
  return Number.isNaN(seconds) ? Number.POSITIVE_INFINITY : 1_000 * seconds;
}
