// Gives a request the outcome that its Prefer field or a rule asks for, instead of the server's or
// after it: a handler before the server's.

import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../packages/sandbox/src/control-types.ts";
import { type Handler, pathOf, type RequestContext } from "../http/handler.ts";
import { parseExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { SandboxOperation } from "./described-operations/sandbox-operation.ts";
import {
  ForcedResponses,
  type ForcedResponsesOptions,
  type FoundRoute,
  type RoutedContext,
} from "./forced-responses.ts";
import { parsePreferredOutcome } from "./prefer.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { RequestGate } from "./request-gate.ts";
import { drawDelayMs, type ForcedOutcome, type Rules } from "./rules.ts";

export interface ForcedOutcomesOptions extends ForcedResponsesOptions {
  readonly next: Handler;
  readonly rules: Rules;
  /** Its signal ends the delays of requests, whose plants are then not stored. */
  readonly gate: Pick<RequestGate, "signal">;
  /** How long the rules wait for a body. */
  readonly arrivalMsMax: number;
}

export class ForcedOutcomes {
  readonly #options: ForcedOutcomesOptions;
  readonly #responses: ForcedResponses;

  constructor(options: ForcedOutcomesOptions) {
    this.#options = options;
    this.#responses = new ForcedResponses(options);
  }

  /** Responds with the outcome that the request asks for, or that a rule has for it. */
  handle(request: Request, context: RequestContext, received: ReceivedRequest): Promise<Response> {
    const { rules, next, routes } = this.#options;
    if (rules.size === 0 && !request.headers.has("prefer")) return next(request, context);
    const route = routes.find(request.method, pathOf(request.url));
    const isOffered = route.operation !== undefined || route.error.code !== "notFound";
    return isOffered ? this.#force(request, { ...context, route }, received) : next(request, context);
  }

  async #force(request: Request, context: RoutedContext, received: ReceivedRequest): Promise<Response> {
    const { rules, gate } = this.#options;
    const { signal } = gate;
    const forced = await this.#choose(request, context.route, received);
    received.forced = forced?.by;
    const { outcome = {}, applied } = forced ?? {};
    const { delay, drop, body, bytesPerSecond } = outcome;
    const wait = async (when: "before" | "after") => {
      if (delay === undefined || (delay.when ?? "before") !== when) return;
      const delayMs = drawDelayMs(delay, rules.random);
      // A reset aborts it, and a client that leaves. A sandbox that stops does not wait for it.
      const ended = AbortSignal.any([signal, request.signal]);
      await sleep(delayMs, undefined, { signal: ended, ref: false }).catch(() => undefined);
    };
    await wait("before");
    // A reset has closed the connection.
    if (signal.aborted) return new Response();
    const response =
      drop === "beforeCommit" ? new Response() : await this.#respond(request, context, outcome);
    await wait("after");
    if ((drop ?? body ?? bytesPerSecond) !== undefined) received.fault = outcome;
    if (applied !== undefined) response.headers.append("Preference-Applied", applied);
    return response;
  }

  async #choose(
    { method, headers }: Request,
    route: FoundRoute,
    received: ReceivedRequest,
  ): Promise<ForcedOutcome | undefined> {
    const { contract, routes } = this.#options;
    const { shape } = contract.errors;
    const collection = routes.collectionOf(route);
    const hasOwn = route.operation instanceof SandboxOperation;
    const examples = hasOwn ? undefined : this.#responses.examplesOf(collection);
    const preferred = parsePreferredOutcome(headers.get("prefer") ?? "", examples, shape);
    if (preferred !== undefined) return preferred;
    const { rules, arrivalMsMax } = this.#options;
    const members = bodyMethods.includes(method) ? membersOf(await received.body(arrivalMsMax)) : undefined;
    const { name = "", type } = (collection ?? contract.collections[0])?.id ?? {};
    const id = type?.parse(String(members?.[name] ?? route.segments.id ?? ""));
    return rules.match({ collection, operation: route.operation, method, headers, members, id });
  }

  async #respond(request: Request, context: RoutedContext, outcome: Outcome): Promise<Response> {
    const { error, example, response: any, commit = false, headers = {} } = outcome;
    const isForced = (error ?? example ?? any) !== undefined;
    const own =
      !isForced || commit ? await this.#options.next(request, { ...context, route: undefined }) : undefined;
    // A request that is rejected gets its own error.
    if (isForced && own !== undefined && !own.ok) return own;
    const response =
      isForced || own === undefined ? await this.#responses.make(request, context, outcome) : own;
    for (const [name, value] of Object.entries(headers))
      if (!framingFields.includes(name.toLowerCase())) response.headers.set(name, value);
    return response;
  }
}

const bodyMethods = ["POST", "PUT", "PATCH"];

/** The server sets them. */
const framingFields = ["connection", "content-length", "transfer-encoding"];

/** The members of a JSON object; undefined if it is none, which the server rejects. */
function membersOf(body: Uint8Array | undefined): Json | undefined {
  try {
    const value = parseExactJson(decodeUtf8(body ?? new Uint8Array()) ?? "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
