// The types of what the control interface accepts and returns.

import type { PlantFields } from "./plant-fields.ts";

/** An int64; a number must be a safe integer. Larger ids are bigints: `9007199254740993n`. */
export type AnyId = bigint | number;

/** The fields of a plant; those that are optional may also be undefined. */
type SeedFields = {
  readonly [Field in keyof PlantFields]: object extends Pick<PlantFields, Field>
    ? PlantFields[Field] | undefined
    : PlantFields[Field];
};

/** A plant that a sandbox starts with, and has again after a reset. */
export interface SeedPlant extends SeedFields {
  readonly id: AnyId;
}

/** A plant of the sandbox. */
export interface StoredPlant extends PlantFields {
  readonly id: bigint;
}

/** The codes of the service's errors: the HTTP status times 100 plus a detail. */
export type ErrorCode =
  | 40000
  | 40001
  | 40002
  | 40003
  | 40004
  | 40009
  | 40100
  | 40101
  | 40400
  | 40500
  | 40800
  | 41300
  | 41500
  | 42900
  | 50000
  | 50300;

/** The values of fields of the plant in the body. */
type MatchedFields = Partial<PlantFields>;

/** One of these. */
export interface TextCondition {
  /** A regular expression that is found anywhere in the text. */
  readonly pattern?: string;
  /** There is no such field or member. */
  readonly absent?: true;
}

/** The conditions of a rule, all of which must hold. Without any it applies to all requests. */
export interface Match extends MatchedFields {
  readonly method?: string;
  /** Names are compared without regard to case, values exactly. */
  readonly headers?: Readonly<Record<string, string | TextCondition>>;
  /** Members of the JSON object in the body, also if it is not a plant. */
  readonly body?: Readonly<Record<string, AnyId | string | boolean | null | TextCondition>>;
  /** The id of the plant in the body, or in the path. */
  readonly id?: AnyId;
  /** The share of the requests that match, 0 to 1, from a sequence that repeats after a reset. */
  readonly share?: number;
}

/** A delay in seconds, fixed or drawn from a distribution. */
export type Delay =
  | { readonly seconds: number }
  | { readonly uniform: readonly [min: number, max: number] }
  | { readonly normal: { readonly mean: number; readonly deviation: number } }
  | { readonly exponential: { readonly mean: number } };

/** The effects of a rule on a request: one or several. */
export interface Outcome {
  /** The response is this error. */
  readonly error?: ErrorCode;
  /** The response: any status from 200 to 599, such as `{ status: 502 }`. */
  readonly response?: {
    readonly status: number;
    /**
     * A string is sent as it is, any other value as JSON. Default: an error's JSON for a status of
     * 400 or more, otherwise nothing.
     */
    readonly body?: unknown;
  };
  /** Fields of the response, instead of those of the same names: `{ "Retry-After": "30" }`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the plant is stored before the error or the response is sent. Default: false. */
  readonly commit?: boolean;
  /** The response is the example with this name in openapi.yaml. */
  readonly example?: string;
  readonly delay?: Delay & {
    /** Whether the delay is before or after the commit. Default: "before". */
    readonly when?: "before" | "after";
  };
  /** The connection is closed without a response. */
  readonly drop?: "beforeCommit" | "afterCommit";
  /** Resets the connection (TCP RST) instead of closing it; used with `drop`. */
  readonly reset?: boolean;
  /** The body is cut, of a wrong length, or in a broken chunk; or the response is not HTTP. */
  readonly body?: "truncated" | "wrongLength" | "brokenChunk" | "garbage";
  /** The rate at which the response is sent. */
  readonly bytesPerSecond?: number;
}

/** A rule says which requests get which outcome. The newest one that matches applies. */
export interface Rule {
  readonly match?: Match;
  /** The number of matching requests that are passed over first. Default: 0. */
  readonly after?: number;
  /** The number of requests that it applies to; then it ends. Default: without limit. */
  readonly times?: number;
  readonly outcome: Outcome;
}

/** A rule as the sandbox has it. */
export interface StoredRule extends Rule {
  readonly id: string;
  /** The number of requests that it was applied to; the rule ends when that is `times`. */
  readonly applied: number;
  readonly match?: Match & { readonly id?: bigint };
}

/** A rule that `force` added. */
export interface ForcedRule extends AsyncDisposable {
  readonly id: string;
  /** Removes the rule; without effect if it is not in effect anymore. `await using` calls it. */
  remove(): Promise<void>;
}

/** A message. */
export interface RecordedMessage {
  /** Names and values in their order, as they were written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body as text; null if it is not UTF-8. */
  readonly body: string | null;
  /** The body in Base64, if it is not UTF-8. */
  readonly bodyBase64?: string;
  /** The length of the body in bytes. */
  readonly bytes: number;
  /** Present if the body is longer than what the log keeps of one. */
  readonly isTruncated?: true;
}

export interface RecordedResponse extends RecordedMessage {
  /** Null if it is not HTTP, as a rule can have it. */
  readonly status: number | null;
}

/** A request as it arrived, and its response as it was sent. */
export interface RecordedRequest {
  /** Numbers ascend from 1, and continue after a reset. */
  readonly number: number;
  readonly connection: number;
  /** RFC 3339, in UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly request: RecordedMessage & {
    /** Null, as target and version are, if it is not HTTP. */
    readonly method: string | null;
    readonly target: string | null;
    readonly version: string | null;
  };
  /** Null if no response was sent. */
  readonly response: RecordedResponse | null;
  /** The code of the error in the response. */
  readonly error: number | null;
  /** The cause of a forced outcome: a rule, or the request's Prefer header. */
  readonly forced: { readonly rule: string } | { readonly prefer: string } | null;
  readonly ended: "complete" | "clientAborted" | "dropped" | "truncated" | "notHttp";
}

export interface RequestsOptions {
  /** Only requests with higher numbers. Default: 0, all that the log holds. */
  readonly after?: number;
  /**
   * Waits so many seconds, a whole number up to 30, for a request if there is none yet. Default: 0.
   */
  readonly waitSeconds?: number;
}

export interface Snapshot {
  readonly name: string;
  /** The number of its plants. */
  readonly plants: number;
  /** RFC 3339, in UTC. */
  readonly createdAt: string;
}

/** The clock by which tokens expire. */
export interface Clock {
  /** RFC 3339, in UTC. */
  readonly now: string;
  /** The difference to the real time. */
  readonly offsetSeconds: number;
}

export interface NewToken {
  readonly name: string;
  /** A time of the sandbox's clock. Default: the token does not expire. */
  readonly expiresInSeconds?: number;
}
