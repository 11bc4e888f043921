// The context of a rule: sends requests to the server under test, and records them.

import { setTimeout as wait } from "node:timers/promises";
import { type Conflict, learnConflict } from "./conflict.ts";
import type { Contents } from "./contents.ts";
import {
  type ErrorFields,
  expectClientError,
  expectError,
  expectPlant,
  expectReturnedId,
  expectThat,
  type PlantFields,
} from "./expectations.ts";
import { describeFailure, type RuleFailure } from "./failure.ts";
import type { IdSource } from "./ids.ts";
import { type HttpResponse, headerOf, type ResponseProblem } from "./response-parser.ts";
import { PlantViolation, RuleBlocked, RuleSkipped, RuleViolation } from "./rule-ends.ts";
import { type Address, Connection, type ConnectionLimits } from "./tested-connection.ts";
import type { Transcript } from "./transcript-text.ts";

export interface Target extends Address {
  readonly token: string;
  /** The size in bytes above which a body is 41300. */
  readonly bodyBytesMax: number;
}

/** A requirement on every response of a run, whichever rule caused it. */
export interface ResponseCheck {
  readonly concerns: (response: HttpResponse, request: RequestParts) => boolean;
  /** Throws a RuleViolation. */
  readonly expect: (response: HttpResponse) => void;
}

/** The results of a requirement on every response. */
export interface Watch {
  /** The rule of the requirement. */
  readonly id: string;
  readonly every: ResponseCheck;
  /** The number of responses that it concerned. */
  responses: number;
  /** The first failure with each message. */
  readonly failures: Map<string, RuleFailure>;
}

/** State shared by all rules of a run. */
export interface RunState {
  readonly contents: Contents;
  readonly target: Target;
  readonly ids: IdSource;
  readonly limits: ConnectionLimits;
  /** Texts that no report may contain: the token, and tokens that were derived from it. */
  readonly secrets: Set<string>;
  readonly watches: readonly Watch[];
  /** The fault of plain creates, which blocks the rules that build on them. */
  readonly plainFaults: Set<string>;
  /** Requests without a response since the last response. */
  unanswered: number;
  /** Learnt from the server when a rule first needs it. */
  conflict: Conflict | undefined;
}

/** The rule of plain creates. */
const plainRule = "contract.create";

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** Replaces the default fields of these very names; null leaves a field out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string | Uint8Array;
}

/** Sends a request that is accepted if nothing but the fault of a case is wrong with it. */
type Control = () => Promise<HttpResponse>;

/** The cases of a rule end after so many requests without a response: each takes the time limit. */
const unansweredInRuleMax = 2;

/** Different failures of every response that are kept. */
const watchFailuresMax = 3;

/** How often a request is repeated after 429 or 503, and the longest wait before that. */
const busyRetriesMax = 3;
const retryMsMax = 5_000;

/** Whether a request is another one than curl would send: malformed bytes, or with such fields. */
const isRawRequest = (parts: RequestParts | undefined) =>
  parts === undefined ||
  ["Transfer-Encoding", "Content-Length", "Expect", "Host"].some((name) => name in (parts.headers ?? {}));

export class RuleContext {
  readonly state: RunState;
  readonly failures: RuleFailure[] = [];
  /** Why cases could not be checked, with the cases. */
  readonly undecided = new Map<string, string[]>();
  isBlocked = false;
  /** The number of cases that were checked and hold. */
  heldCases = 0;
  readonly #ruleId: string | undefined;
  #transcripts: Transcript[] = [];
  #cases = 0;
  /** Whether a response of the present case rejected or accepted a request. */
  #isRejected = false;
  #isAccepted = false;

  constructor(state: RunState, ruleId?: string) {
    this.state = state;
    this.#ruleId = ruleId;
  }

  get contents(): Contents {
    return this.state.contents;
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

  /** A plant as JSON with a new id, in as many bytes. */
  plantOfLength(bytes: number): { readonly body: string; readonly name: string } {
    const id = this.id();
    const name = "x".repeat(bytes - this.contents.plantJson(id, "").length);
    if (this.contents.takesTitle(name)) return { body: this.contents.plantJson(id, name), name };
    // A shorter title, and white space.
    return { body: this.contents.plantJson(id, "Monstera").padEnd(bytes), name: "Monstera" };
  }

  /** A plant as JSON, with a new id. */
  plant(name = "Monstera", tag?: string): string {
    return this.contents.plantJson(this.id(), name, tag);
  }

  /** A text with a new id in place of each ID. */
  withNewId(text: string): string {
    return text.replaceAll("ID", String(this.contents.idOfNumber(this.id())));
  }

  /** Keeps a text that was made of the token out of the report. */
  secret(text: string): string {
    this.state.secrets.add(text);
    return text;
  }

  /**
   * Checks one case of a rule, or all of it. A violation is reported, and does not prevent the
   * other cases. A case that ends with a rejection holds only if the control is accepted: a server
   * may reject everything.
   */
  async case(
    label: string | undefined,
    check: () => Promise<unknown>,
    control: Control = () => this.create(this.plant()),
  ): Promise<void> {
    const number = ++this.#cases;
    this.#startCase();
    try {
      await check();
      // The rule has cases, which were counted.
      if (this.#cases > number) return;
      if (this.#isRejected && !this.#isAccepted) await this.#expectControl(control);
      this.heldCases++;
    } catch (error) {
      this.#endWith(error, label);
    }
    this.#startCase();
  }

  #startCase(): void {
    this.#transcripts = [];
    this.#isRejected = false;
    this.#isAccepted = false;
  }

  #endWith(error: unknown, label: string | undefined): void {
    const { plainFaults, unanswered } = this.state;
    const isBlocked =
      error instanceof PlantViolation && plainFaults.has(error.fault) && this.#ruleId !== plainRule;
    const end = isBlocked ? new RuleBlocked(`blocked by ${plainRule}`) : error;
    if (end instanceof RuleSkipped) {
      const labels = label === undefined ? [] : [label];
      this.undecided.set(end.message, [...(this.undecided.get(end.message) ?? []), ...labels]);
      this.isBlocked ||= end instanceof RuleBlocked;
      return;
    }
    if (!(end instanceof RuleViolation)) throw end;
    const failure = this.#describe(end, this.#transcripts, label);
    // A case has reported it.
    if (label === undefined && this.failures.at(-1)?.message === failure.message) return;
    this.failures.push(failure);
    if (label !== undefined && unanswered >= unansweredInRuleMax) throw end;
  }

  #describe(
    { message }: RuleViolation,
    transcripts: readonly Transcript[],
    label: string | undefined,
  ): RuleFailure {
    const { target, secrets, ids } = this.state;
    return describeFailure(label, message, transcripts, { ...target, secrets, ranges: ids.ranges });
  }

  async #expectControl(control: Control): Promise<void> {
    const received = await control().then(
      ({ status }) => (status >= 200 && status < 300 ? undefined : `received the status ${status}`),
      (error) => {
        if (error instanceof RuleViolation) return error.message;
        throw error;
      },
    );
    if (received !== undefined)
      throw new RuleBlocked(`blocked: the same request without the fault is rejected, too: ${received}`);
  }

  /** Checks a case of a rule for each value, labelled with its name. */
  async cases<T>(
    values: Readonly<Record<string, T>>,
    check: (value: T) => Promise<unknown>,
    control?: Control,
  ): Promise<void> {
    for (const [label, value] of Object.entries(values)) await this.case(label, () => check(value), control);
  }

  /** Checks a case of a rule for each value, labelled with it. */
  each<T extends string | null>(
    values: readonly T[],
    check: (value: T) => Promise<unknown>,
    control?: Control,
  ): Promise<void> {
    const labelled = values.map((value) => [(value ?? "none").slice(0, 40), value]);
    return this.cases(Object.fromEntries(labelled), check, control);
  }

  /** The bytes of a request: a create with `Connection: close`, unless fields are given. */
  requestBytes({
    method = "POST",
    path = this.contents.contract.path,
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
      "Idempotency-Key": this.contents.contract.requiresKey && method === "POST" ? `key-${this.id()}` : null,
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
      if (retries < busyRetriesMax && waitMs <= retryMsMax) {
        await wait(waitMs);
        continue;
      }
      // A server may always be over its limits, but a rate is a setting of its operator.
      if (status === 503) return response;
      throw new RuleSkipped("the server limits the rate: it responded with 429");
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
      { isRaw: isRawRequest(parts) },
    );
  }

  /** Sends a request on a connection, and returns its response. */
  exchange(connection: Connection, parts: RequestParts): Promise<HttpResponse> {
    connection.write(this.requestBytes(parts));
    return this.response(connection, parts);
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

  /** Bytes cannot be sent again on the same connection. */
  #notBusy(response: HttpResponse): HttpResponse {
    const { status } = response;
    if (status === 429 || (status === 503 && headerOf(response, "retry-after") !== undefined))
      throw new RuleSkipped(`the server limits the rate: it responded with ${status}`);
    return response;
  }

  /** @param parts what was sent, unless it may be malformed, or another thing than one request. */
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
    connection.isRegular &&= !isRawRequest(parts);
    if (connection.isRegular) this.#watch(response, parts ?? {}, connection);
    return response;
  }

  /**
   * Checks what must hold of every response. An HTTP parser may reject other requests as it likes.
   */
  #watch(response: HttpResponse, parts: RequestParts, connection: Connection): void {
    for (const watch of this.state.watches) {
      if (!watch.every.concerns(response, parts)) continue;
      watch.responses++;
      try {
        watch.every.expect(response);
      } catch (error) {
        if (!(error instanceof RuleViolation)) throw error;
        const { failures } = watch;
        if (failures.size >= watchFailuresMax || failures.has(error.message)) continue;
        const transcript = transcriptOf(connection, { isRaw: false });
        failures.set(error.message, this.#describe(error, [transcript], undefined));
      }
    }
  }

  /** Opens a connection for the time of a call, and records what was sent and received on it. */
  async connected<T>(
    use: (connection: Connection) => Promise<T>,
    kind: Partial<Transcript> = {},
  ): Promise<T> {
    const connection = await Connection.open(this.target, this.state.limits);
    if ("problem" in connection) {
      const nothing = { sent: new Uint8Array(), received: new Uint8Array() };
      this.#transcripts.push(transcriptOf(nothing, kind));
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
          // A server with the backlog of Python's http.server, 5, resets those that do not fit.
          const hint = `one of ${bodies.length} connections at once; is the listen backlog shorter?`;
          throw this.#violation({ problem: `${response.problem}: ${hint}` });
        },
        { isRaw: false, isConcurrent: true },
      );
    const all = bodies.map(sendHeldBack);
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
    if (!this.contents.sendsIds) return false;
    return (await this.#conflict()).recognize(response);
  }

  /**
   * Skips a rule that tells two ids apart by creating a plant with each: a server that accepts any
   * number of plants with one id would pass it.
   */
  async skipUnlessConflicts(): Promise<void> {
    if ((await this.#conflict()).isAccepted)
      throw new RuleSkipped(
        "the server accepts another plant with an id that is taken, which --rule idempotence judges",
      );
  }

  async #conflict(): Promise<Conflict> {
    this.state.conflict ??= await learnConflict(new RuleContext(this.state));
    return this.state.conflict;
  }

  #violation({ problem }: ResponseProblem): RuleViolation {
    this.state.unanswered++;
    return new RuleViolation(problem);
  }

  /** Sends a body that must be accepted as this plant. */
  async expectCreated(body: string | Uint8Array, plant: PlantFields): Promise<void> {
    expectPlant(this.contents, await this.create(body), plant);
  }

  /** Creates a plant, which must be accepted. */
  async expectPlant(id: bigint, name: string, tag?: string, rejected?: string): Promise<void> {
    const response = await this.create(this.contents.plantJson(id, name, tag));
    expectPlant(this.contents, response, { name, tag }, rejected);
    expectReturnedId(this.contents, response, id);
  }

  /** Creates another plant, which must be accepted with these header fields. */
  async expectMonstera(headers: RequestParts["headers"]): Promise<void> {
    expectPlant(this.contents, await this.create(this.plant(), headers), { name: "Monstera" });
  }

  /**
   * Sends a body that must be rejected for what it is, and not because its id was changed to one
   * that is taken. Returns false if that is certain.
   */
  async expectInvalid(body: string): Promise<false | undefined> {
    const response = await this.create(body);
    expectClientError(response);
    const isTaken = await this.isTaken(response);
    expectThat(isTaken !== true, "expected the body to be rejected; its id was changed to one that is taken");
    return isTaken;
  }

  /**
   * Does the same for a body without a number as its id, which may be taken for 0 or 1. It is sent
   * twice: by then such an id is taken, so that every run gets the same response.
   */
  async expectInvalidWithoutId(body: string): Promise<void> {
    await this.create(body);
    if ((await this.expectInvalid(body)) === undefined) throw new RuleSkipped(takenOrRejected);
  }

  async expectRejected(body: string | Uint8Array, error: number): Promise<ErrorFields> {
    return expectError(this.contents, await this.create(body), 400, error);
  }
}

/** Why a rule cannot be checked on a server that responds to both alike. */
export const takenOrRejected = "an id that is taken cannot be told from one that is rejected";

function transcriptOf(
  { sent, received }: Pick<Connection, "sent" | "received">,
  { isRaw = true, isConcurrent = false }: Partial<Transcript>,
): Transcript {
  return { sent, received, isRaw, isConcurrent };
}

/** The Retry-After of a response in milliseconds; a second where there is none. */
function retryAfterMs(response: HttpResponse): number {
  const seconds = Number(headerOf(response, "retry-after") ?? 1);
  return Number.isNaN(seconds) ? Number.POSITIVE_INFINITY : 1_000 * seconds;
}
