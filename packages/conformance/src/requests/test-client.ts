// Sends requests to the server under test, byte by byte as a rule wants them, and records what was
// sent and received.

import { setTimeout as wait } from "node:timers/promises";
import { describeFailure, type RuleFailure } from "../failures/failure.ts";
import type { Transcript } from "../failures/transcript-text.ts";
import { isRaw, type RequestParts } from "../wire/request-parts.ts";
import { type HttpResponse, headerOf, type ResponseProblem } from "../wire/response-parser.ts";
import { RuleSkipped, RuleViolation } from "../wire/rule-ends.ts";
import { Connection } from "../wire/tested-connection.ts";
import type { Contents } from "./contents.ts";
import type { RunState, Target } from "./run-state.ts";

/** How often a request is repeated after 429 or 503, and the longest wait before that. */
const busyRetriesMax = 3;
const retryMsMax = 5_000;

export class TestClient {
  readonly state: RunState;
  #transcripts: Transcript[] = [];
  #isRejected = false;
  #isAccepted = false;

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
    return this.#isRejected && !this.#isAccepted;
  }

  /** Forgets the requests and responses up to now. */
  protected forget(): void {
    this.#transcripts = [];
    this.#isRejected = false;
    this.#isAccepted = false;
  }

  /** Describes a violation with the requests since `forget`, or with others. */
  protected describe(
    { message }: RuleViolation,
    label?: string,
    transcripts: readonly Transcript[] = this.#transcripts,
  ): RuleFailure {
    const { target, secrets, ids } = this.state;
    return describeFailure(label, message, transcripts, { ...target, secrets, ranges: ids.ranges });
  }

  /** A new id. */
  id(): bigint {
    return this.state.ids.next();
  }

  /** A plant as JSON, with a new id. */
  plant(name = "Monstera", tag?: string): string {
    return this.contents.plantJson(this.id(), name, tag);
  }

  /** The bytes of a request: a create with `Connection: close`, unless fields are given. */
  requestBytes({
    method = "POST",
    path = this.contents.collection.path,
    headers = {},
    body,
  }: RequestParts): Uint8Array {
    const { url, token } = this.target;
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const fields: Record<string, string | null> = {
      Host: url.host,
      "User-Agent": "plantstore-conformance",
      Accept: "application/json",
      Connection: "close",
      ...this.contents.credentials(token),
      "Idempotency-Key":
        this.contents.collection.requiresKey && method === "POST" ? `key-${this.id()}` : null,
      "Content-Type": bytes === undefined ? null : "application/json",
      "Content-Length": bytes === undefined ? null : String(bytes.length),
      ...headers,
    };
    const lines = Object.entries(fields).flatMap(([name, value]) =>
      value === null ? [] : [`${name}: ${value}\r\n`],
    );
    const target = `${url.pathname.replace(/\/$/, "")}${path}`;
    const head = `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`;
    return Buffer.concat([Buffer.from(head, "latin1"), bytes ?? new Uint8Array()]);
  }

  create(body: string | Uint8Array, headers: RequestParts["headers"] = {}): Promise<HttpResponse> {
    return this.send({ body, headers });
  }

  /** Sends a request on a new connection, again if the server is busy. */
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

  #sendOnce(parts: RequestParts): Promise<HttpResponse> {
    return this.connected(
      async (connection) => {
        connection.write(this.requestBytes(parts));
        const received = await this.#receive(connection, parts);
        if ("problem" in received) throw this.#violation(received);
        if (connection.hasRest) throw new RuleViolation("bytes follow the response");
        return received;
      },
      { isRaw: isRaw(parts) },
    );
  }

  /** Sends a request on a connection, and returns its response. */
  exchange(connection: Connection, parts: RequestParts): Promise<HttpResponse> {
    connection.write(this.requestBytes(parts));
    return this.response(connection, parts);
  }

  /** Sends a request, and returns its response; undefined if the server closes the connection instead. */
  exchangeOrClose(connection: Connection, parts: RequestParts): Promise<HttpResponse | undefined> {
    connection.write(this.requestBytes(parts));
    return this.responseOrClose(connection, parts.method);
  }

  /** The next response on a connection. Throws a RuleViolation if there is none. */
  async response(connection: Connection, parts?: RequestParts): Promise<HttpResponse> {
    const response = await this.#receive(connection, parts);
    if ("problem" in response) throw this.#violation(response);
    return this.#notBusy(response);
  }

  /**
   * The next response on a connection, to a request that may be malformed; undefined if the server
   * closes it instead.
   */
  async responseOrClose(connection: Connection, method = "POST"): Promise<HttpResponse | undefined> {
    const response = await this.#receive(connection, undefined, method);
    if (!("problem" in response)) return this.#notBusy(response);
    if (connection.hasRest || !(await connection.closesWithin(0))) throw this.#violation(response);
    // A closed connection is a rejection.
    this.#isRejected = true;
    return undefined;
  }

  /** Skips the rule if the server is busy: bytes cannot be sent again on the same connection. */
  #notBusy(response: HttpResponse): HttpResponse {
    const { status } = response;
    if (status === 429 || (status === 503 && headerOf(response, "retry-after") !== undefined))
      throw new RuleSkipped(`the server limits the rate: it responded with ${status}`);
    return response;
  }

  /** @param parts the request; undefined if the bytes may be malformed, or are not one request. */
  async #receive(
    connection: Connection,
    parts: RequestParts | undefined,
    method = parts?.method ?? "POST",
  ): Promise<HttpResponse | ResponseProblem> {
    const response = await connection.nextResponse(method);
    if ("problem" in response) return response;
    this.state.unanswered = 0;
    this.#isRejected ||= response.status >= 400;
    this.#isAccepted ||= response.status < 300;
    connection.isRegular &&= parts !== undefined && !isRaw(parts);
    if (connection.isRegular) this.#watch(response, parts ?? {}, connection);
    return response;
  }

  /** Checks a response to a regular request: an HTTP parser may reject others in any way. */
  #watch(response: HttpResponse, parts: RequestParts, connection: Connection): void {
    const describe = (violation: RuleViolation) =>
      this.describe(violation, undefined, [transcriptOf(connection, { isRaw: false })]);
    for (const watch of this.state.watches) watch.observe(response, parts, describe);
  }

  /** Opens a connection for the time of a call, and records what was sent and received on it. */
  async connected<T>(
    use: (connection: Connection) => Promise<T>,
    kind: Partial<Transcript> = {},
  ): Promise<T> {
    const connection = await Connection.open(this.target, this.state.limits);
    if ("problem" in connection) {
      this.#transcripts.push(transcriptOf({ sent: new Uint8Array(), response: undefined }, kind));
      throw this.#violation(connection);
    }
    try {
      return await use(connection);
    } finally {
      connection.close();
      this.#transcripts.push(transcriptOf(connection, kind));
    }
  }

  /**
   * Sends creates at the same time: the last byte of each is held back until the others have sent
   * theirs. Returns the responses in the order of the bodies.
   */
  async together(bodies: readonly string[], headers: RequestParts["headers"] = {}): Promise<HttpResponse[]> {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let ready = 0;
    const sendHeldBack = (body: string) =>
      this.connected(
        async (connection) => {
          const parts = { body, headers };
          const bytes = this.requestBytes(parts);
          connection.write(bytes.subarray(0, -1));
          await connection.flush();
          if (++ready === bodies.length) release();
          await released;
          connection.write(bytes.subarray(-1));
          const response = await this.#receive(connection, parts);
          if (!("problem" in response)) return this.#notBusy(response);
          // A short backlog, such as the 5 of Python's http.server, resets the others.
          const hint = `one of ${bodies.length} connections at once; is the listen backlog shorter?`;
          throw this.#violation({ problem: `${response.problem}: ${hint}` });
        },
        { isRaw: false, isConcurrent: true },
      );
    const all = bodies.map(sendHeldBack);
    // A create that fails before its last byte must not keep the others waiting.
    for (const each of all) each.catch(release);
    await Promise.allSettled(all);
    return Promise.all(all);
  }

  #violation({ problem }: ResponseProblem): RuleViolation {
    this.state.unanswered++;
    return new RuleViolation(problem);
  }
}

function transcriptOf(
  { sent, response }: Pick<Connection, "sent" | "response">,
  { isRaw = true, isConcurrent = false }: Partial<Transcript>,
): Transcript {
  return { sent, response, isRaw, isConcurrent };
}

/** The Retry-After of a response in milliseconds; a second where there is none. */
function retryAfterMs(response: HttpResponse): number {
  const seconds = Number(headerOf(response, "retry-after") ?? 1);
  return Number.isNaN(seconds) ? Number.POSITIVE_INFINITY : 1_000 * seconds;
}
