// The context of a rule: sends requests to the server under test, and records them.

import { setTimeout as wait } from "node:timers/promises";
import { type Conflict, createAgain, learnConflict } from "./conflict.ts";
import { type Address, Connection, type ConnectionLimits, isSentInParts } from "./connection.ts";
import {
  type ErrorFields,
  expectClientError,
  expectError,
  expectPlant,
  expectThat,
  type PlantFields,
} from "./expectations.ts";
import { type IdSource, plantJson } from "./ids.ts";
import { type HttpResponse, headerOf, type ResponseProblem } from "./response-parser.ts";
import { RuleBusy, RuleSkipped, RuleViolation } from "./rule-ends.ts";
import { describeFailure, type RuleFailure, type Transcript } from "./transcript-text.ts";

export interface Target extends Address {
  readonly token: string;
  /** The size in bytes above which a body is 41300. */
  readonly bodyBytesMax: number;
}

/** State shared by all rules of a run. */
export interface RunState {
  readonly target: Target;
  readonly ids: IdSource;
  readonly limits: ConnectionLimits;
  /** Texts that no report may contain: the token, and tokens that were derived from it. */
  readonly secrets: Set<string>;
  /** The last response of each status: no rule can provoke 429 and 503. */
  readonly observed: Map<number, HttpResponse>;
  /** Requests without a response since the last response. */
  unanswered: number;
  /** Learnt from the server when a rule first needs it. */
  conflict: Promise<Conflict> | undefined;
}

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** Replaces the default fields of these very names; null leaves a field out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string | Uint8Array;
}

/**
 * How long a large body is held back for a response to its head, and again to its parts: at first,
 * and if the connection was closed under the body.
 */
const promptResponseMs = 30;
const lateResponseMs = 2_000;

/** The cases of a rule end after so many requests without a response: each takes the time limit. */
const unansweredInRuleMax = 2;

/** How often a request or a rule is repeated after 429 or 503, and the longest wait before that. */
export const busyRetriesMax = 3;
export const retryMsMax = 5_000;

export class RuleContext {
  readonly state: RunState;
  readonly failures: RuleFailure[] = [];
  /** Why cases could not be checked, with the cases. */
  readonly undecided = new Map<string, string[]>();
  /** The number of cases that were checked and hold. */
  heldCases = 0;
  #transcripts: Transcript[] = [];

  constructor(state: RunState) {
    this.state = state;
  }

  get target(): Target {
    return this.state.target;
  }

  /** The length of a long text, and the levels of deep nesting, in a body below the limit. */
  get longLength(): number {
    return Math.min(100_000, Math.trunc(this.target.bodyBytesMax / 4));
  }

  id(): bigint {
    return this.state.ids.next();
  }

  idGroup(): readonly [bigint, bigint, bigint] {
    return this.state.ids.nextGroup();
  }

  distance(): bigint {
    return this.state.ids.nextDistance();
  }

  /** A plant as JSON, with a new id. */
  plant(name = "Monstera", tag?: string): string {
    return plantJson(this.id(), name, tag);
  }

  /** A text with a new id in place of each ID. */
  withNewId(text: string): string {
    return text.replaceAll("ID", String(this.id()));
  }

  /** Keeps a text that was made of the token out of the report. */
  secret(text: string): string {
    this.state.secrets.add(text);
    return text;
  }

  /** Checks one case of a rule. Its violation is reported, and does not prevent the other cases. */
  async case(label: string, check: () => Promise<unknown>): Promise<void> {
    this.#transcripts = [];
    try {
      await check();
      this.heldCases++;
    } catch (error) {
      if (error instanceof RuleSkipped && !(error instanceof RuleBusy)) {
        this.undecided.set(error.message, [...(this.undecided.get(error.message) ?? []), label]);
        return;
      }
      if (!(error instanceof RuleViolation)) throw error;
      this.addFailure(error, label);
      if (this.state.unanswered >= unansweredInRuleMax) throw error;
    }
    this.#transcripts = [];
  }

  /** Checks a case of a rule for each value, labelled with its name. */
  async cases<T>(values: Readonly<Record<string, T>>, check: (value: T) => Promise<unknown>): Promise<void> {
    for (const [label, value] of Object.entries(values)) await this.case(label, () => check(value));
  }

  /** Checks a case of a rule for each value, labelled with it. */
  async each<T extends string | null>(
    values: readonly T[],
    check: (value: T) => Promise<unknown>,
  ): Promise<void> {
    for (const value of values) await this.case((value ?? "none").slice(0, 40), () => check(value));
  }

  /** Reports a violation, unless a case has reported it. */
  addFailure({ message }: RuleViolation, label?: string): void {
    const failure = describeFailure(label, message, this.#transcripts, this.state.secrets);
    if (label === undefined && this.failures.at(-1)?.message === failure.message) return;
    this.failures.push(failure);
  }

  /** The bytes of a request: a create with `Connection: close`, unless fields are given. */
  requestBytes({ method = "POST", path = "/plants", headers = {}, body }: RequestParts): Uint8Array {
    const { url, token } = this.target;
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const fields: Record<string, string | null> = {
      Host: url.host,
      "User-Agent": "plantstore-conformance",
      Accept: "application/json",
      Connection: "close",
      Authorization: `Bearer ${token}`,
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
  send(parts: RequestParts): Promise<HttpResponse> {
    return this.sendBytes(this.requestBytes(parts), parts.method);
  }

  async sendBytes(bytes: Uint8Array, method = "POST"): Promise<HttpResponse> {
    for (let retries = 0; ; retries++) {
      const response = await this.#sendOnce(bytes, method);
      const { status } = response;
      if (status !== 429 && status !== 503) return response;
      const waitMs = retryAfterMs(response);
      if (retries < busyRetriesMax && waitMs <= retryMsMax) {
        await wait(waitMs);
        continue;
      }
      // A server may always be over its limits, but a rate is a setting of its operator.
      if (status === 503) return response;
      throw new RuleBusy(status, waitMs);
    }
  }

  async #sendOnce(
    bytes: Uint8Array,
    method: string,
    earlyResponseMs = promptResponseMs,
  ): Promise<HttpResponse> {
    const response = await this.connected(async (connection) => {
      await connection.writeRequest(bytes, earlyResponseMs);
      const received = await this.#receive(connection, method);
      if ("problem" in received) {
        // A server that closes the connection under a body may have responded to the head, too late
        // to be read.
        const isRepeated = isSentInParts(bytes) && earlyResponseMs < lateResponseMs;
        if (isRepeated && (await connection.closesWithin(0))) return undefined;
        throw this.#violation(received);
      }
      if (connection.hasRest) throw new RuleViolation("bytes follow the response");
      return received;
    });
    return response ?? this.#sendOnce(bytes, method, lateResponseMs);
  }

  /** Sends a request on a connection, and returns its response. */
  exchange(connection: Connection, parts: RequestParts): Promise<HttpResponse> {
    connection.write(this.requestBytes(parts));
    return this.response(connection, parts.method);
  }

  /** The next response on a connection. Throws a RuleViolation if there is none. */
  async response(connection: Connection, method = "POST"): Promise<HttpResponse> {
    const response = await this.#receive(connection, method);
    if ("problem" in response) throw this.#violation(response);
    return this.#notBusy(response);
  }

  /** The next response on a connection; undefined if the server closes it instead. */
  async responseOrClose(connection: Connection, method = "POST"): Promise<HttpResponse | undefined> {
    const response = await this.#receive(connection, method);
    if (!("problem" in response)) return this.#notBusy(response);
    if (!connection.hasRest && (await connection.closesWithin(0))) return undefined;
    throw this.#violation(response);
  }

  /** Bytes cannot be sent again on the same connection: the rule is run again. */
  #notBusy(response: HttpResponse): HttpResponse {
    const { status } = response;
    if (status !== 429 && (status !== 503 || headerOf(response, "retry-after") === undefined))
      return response;
    throw new RuleBusy(status, retryAfterMs(response));
  }

  async #receive(connection: Connection, method: string): Promise<HttpResponse | ResponseProblem> {
    const response = await connection.nextResponse(method);
    if (!("problem" in response)) {
      this.state.unanswered = 0;
      this.state.observed.set(response.status, response);
    }
    return response;
  }

  /** Opens a connection for the time of a call, and records what was sent and received on it. */
  async connected<T>(use: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await Connection.open(this.target, this.state.limits);
    if ("problem" in connection) {
      this.#transcripts.push({ sent: new Uint8Array(), received: new Uint8Array(), ...connection });
      throw this.#violation(connection);
    }
    let problem: string | undefined;
    try {
      return await use(connection);
    } catch (error) {
      if (error instanceof RuleViolation) problem = error.message;
      throw error;
    } finally {
      connection.close();
      this.#transcripts.push({ sent: connection.sent, received: connection.received, problem });
    }
  }

  /**
   * Sends creates at the same time: the last byte of each is held back until the others have sent
   * theirs. Returns the responses in the order of the bodies.
   */
  async together(bodies: readonly string[]): Promise<HttpResponse[]> {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let ready = 0;
    const all = bodies.map((body) =>
      this.connected(async (connection) => {
        const bytes = this.requestBytes({ body });
        connection.write(bytes.subarray(0, -1));
        await connection.flush();
        if (++ready === bodies.length) release();
        await released;
        connection.write(bytes.subarray(-1));
        return this.response(connection);
      }),
    );
    // One that fails before its last byte lets the others go on.
    for (const each of all) each.catch(release);
    await Promise.allSettled(all);
    return Promise.all(all);
  }

  /**
   * Whether a response says that an id is taken by another plant. A server shows how it says so in
   * a response of the run; undefined if it cannot be told from the response to a body that is
   * invalid.
   */
  async isTaken(response: HttpResponse): Promise<boolean | undefined> {
    return (await this.#conflict()).recognize?.(response);
  }

  /**
   * Skips a rule that tells two ids apart by creating a plant with each: a server that accepts any
   * number of plants with one id would pass it.
   */
  async skipUnlessConflicts(): Promise<void> {
    if ((await this.#conflict()).isAccepted)
      throw new RuleSkipped("the server accepts another plant with an id that is taken");
  }

  #conflict(): Promise<Conflict> {
    this.state.conflict ??= learnConflict(new RuleContext(this.state)).catch((error) => {
      // The next rule that needs it asks again.
      this.state.conflict = undefined;
      throw error;
    });
    return this.state.conflict;
  }

  #violation({ problem }: ResponseProblem): RuleViolation {
    this.state.unanswered++;
    return new RuleViolation(problem);
  }

  /** Sends a body that must be accepted as this plant. */
  async expectCreated(
    body: string | Uint8Array,
    plant: PlantFields,
    headers?: RequestParts["headers"],
  ): Promise<void> {
    expectPlant(await this.create(body, headers), plant);
  }

  /** Creates a plant, which must be accepted. */
  expectPlant(id: bigint, name: string, tag?: string): Promise<void> {
    return this.expectCreated(plantJson(id, name, tag), { name, tag });
  }

  /** Creates another plant, which must be accepted with these header fields. */
  expectMonstera(headers: RequestParts["headers"]): Promise<void> {
    return this.expectCreated(this.plant(), { name: "Monstera" }, headers);
  }

  /**
   * Sends a body that must be rejected for what it is, and not because its id was changed to one
   * that is taken.
   */
  async expectInvalid(body: string): Promise<void> {
    await this.#expectInvalid(await this.create(body));
  }

  /** Does the same for a body without a number as its id, which may be taken for 0 or 1. */
  async expectInvalidWithoutId(body: string): Promise<void> {
    const isTaken = await this.#expectInvalid(await createAgain(this, body));
    if (isTaken === undefined) throw new RuleSkipped(takenOrRejected);
  }

  async #expectInvalid(response: HttpResponse): Promise<boolean | undefined> {
    expectClientError(response);
    const isTaken = await this.isTaken(response);
    expectThat(isTaken !== true, "expected the body to be rejected; its id was changed to one that is taken");
    return isTaken;
  }

  async expectRejected(body: string | Uint8Array, error?: number): Promise<ErrorFields> {
    return expectError(await this.create(body), 400, error);
  }
}

/** Why a rule cannot be checked on a server that responds to both alike. */
export const takenOrRejected = "an id that is taken cannot be told from one that is rejected";

/** The Retry-After of a response in milliseconds; a second where there is none. */
function retryAfterMs(response: HttpResponse): number {
  const seconds = Number(headerOf(response, "retry-after") ?? 1);
  return Number.isNaN(seconds) ? Number.POSITIVE_INFINITY : 1_000 * seconds;
}
