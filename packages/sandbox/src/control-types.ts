// Declares the types of control, as src/sandbox/openapi-control.yaml describes it.

/**
 * The id of a resource: a text, or an int64, of which a number must be a safe integer. Larger ids
 * are bigints: `9007199254740993n`.
 */
export type AnyId = bigint | number | string;

export interface Sandbox {
  /** The base URL of the interface. */
  readonly url: string;
  /** Where resources are created, those of the first collection; `url` without one. */
  readonly resourcesUrl: string;
  /** The fixed token. */
  readonly token: string;
  /** The number of resources, of all collections. */
  readonly resources: number;
  /** In the order of the contract. */
  readonly collections: readonly {
    /** Its name in the paths of control, in rules and in the log. */
    readonly name: string;
    /** Where its resources are created. */
    readonly url: string;
    /** The number of its resources. */
    readonly resources: number;
  }[];
  readonly clock: Clock;
  /** The log of requests. */
  readonly requests: {
    /** The number of the oldest request in the log, or of the next one. */
    readonly first: number;
    /** The value of `after` for requests that end from now on. */
    readonly next: number;
  };
  /** The number of rules. */
  readonly rules: number;
}

/** A request that has ended, and its response. */
export interface RecordedRequest {
  /** Requests are numbered from 1 on as they end. */
  readonly number: number;
  /** Connections are numbered from 1 on, by their first request. */
  readonly connection: number;
  /** When its head had arrived, by the clock of the machine. */
  readonly startedAt: string;
  /** From then to the last byte of the response. */
  readonly durationMs: number;
  /** The collection to which, or to a resource of which, the request was sent. */
  readonly collection: string | null;
  readonly request: RecordedMessage & {
    /** Null, as are target and version, for bytes that are not HTTP. */
    readonly method: string | null;
    readonly target: string | null;
    readonly version: "HTTP/1.0" | "HTTP/1.1" | null;
  };
  /** The response, or the one that was being sent when the client left; null if there is none. */
  readonly response: null | RecordedMessage & {
    readonly status: number | null;
  };
  /** The code of the error in the response. */
  readonly error: number | null;
  /**
   * The rule or the preferences whose outcome the request got; also preferences that could not be
   * met.
   */
  readonly forced: null | {
    readonly rule: string;
  } | {
    readonly prefer: string;
  };
  /**
   * `complete`: with its response. `clientAborted`: the client closed the connection before.
   * `dropped`: the connection was closed without a response. `truncated`: in the middle of
   * it. `notHttp`: the bytes are not an HTTP request.
   */
  readonly ended: "complete" | "clientAborted" | "dropped" | "truncated" | "notHttp";
}

export interface RecordedMessage {
  /**
   * Names and values in their order, those of a request as they were written. The fields that
   * HTTP sets for each connection are not in those of a response.
   */
  readonly headers: readonly (readonly [string, string])[];
  /** Without the framing of chunks; null if not UTF-8; the bytes if not HTTP. */
  readonly body: string | null;
  /** The body where it is not UTF-8. */
  readonly bodyBase64?: string;
  /** The number of all bytes of the body that arrived. */
  readonly bytes: number;
  /** Whether only the first bytes of the body were stored, as it has over 4 MiB, or 64 KiB in a response. */
  readonly isTruncated?: true;
}

export interface RuleList {
  /** Starts the random sequence (SplitMix32) of shares and delays. */
  readonly seed?: number;
  readonly rules: readonly Rule[];
}

/**
 * The first rule that matches a request decides on its outcome. A rule that was read back can
 * be sent again: its `id` and `applied` are ignored.
 */
export interface Rule<Resource = StoredPlant> {
  readonly match?: Match<Resource>;
  /** How many requests that match are passed over before the rule is applied. */
  readonly after?: number;
  /** To how many requests the rule is applied; to all without it. */
  readonly times?: number;
  readonly outcome: Outcome;
}

export interface StoredRule<Resource = StoredPlant> extends Rule<Resource> {
  readonly id: string;
  /** To how many requests the rule was applied. */
  readonly applied: number;
}

/**
 * Conditions that a request must meet, all of them: also fields of the resource. An empty one
 * matches every request.
 */
export type Match<Resource = StoredPlant> = Conditions & Partial<Omit<Resource, keyof Conditions>>;

export interface Conditions {
  /** The collection that the request is for. */
  readonly collection?: string;
  readonly method?: string;
  /** The operationId of the operation, in the description that is served. */
  readonly operation?: string;
  /** The path of the operation as it is described, such as /reports/occupancy. */
  readonly path?: string;
  /** Header fields, by their names. */
  readonly headers?: Readonly<Record<string, string | TextCondition>>;
  /** Members of the JSON object in the body, by their names, also if it is not a plant. */
  readonly body?: Readonly<Record<string, AnyId | boolean | null | TextCondition>>;
  /** The id of the resource, in the body or in the path. */
  readonly id?: AnyId;
  /** The part of the requests for which all else matches that the rule applies to. */
  readonly share?: number;
}

/** One of these. */
export interface TextCondition {
  /** A regular expression of ECMAScript that is found anywhere in the text. */
  readonly pattern?: string;
  /** There is no such field or member. */
  readonly absent?: true;
}

/** The code of an error of the contract. */
export type ErrorCode = 40000 | 40001 | 40002 | 40003 | 40004 | 40009 | 40100 | 40101 | 40300 | 40400 | 40500 | 40800 | 41200 | 41300 | 41500 | 42800 | 42900 | 50000 | 50100 | 50300;

/** At least one of these. */
export interface Outcome {
  readonly error?: ErrorCode;
  /** Any response. */
  readonly response?: {
    readonly status: number;
    /**
     * A string is sent as it is, any other value as JSON. Without it a status of 400 or more has a
     * body with an error and a message.
     */
    readonly body?: unknown;
  };
  /**
   * Fields of the response, instead of those of the same names. Connection, Content-Length and
   * Transfer-Encoding are ignored; `body` makes wrong ones.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the plant is stored before an error, example or response is sent. */
  readonly commit?: boolean;
  /** The name of an example of a response in openapi.json. */
  readonly example?: string;
  readonly delay?: {
    /** This number, or one that is drawn between two. */
    readonly seconds: number | readonly [number, number];
    /** Before the request is processed or after it. */
    readonly when?: "before" | "after";
  };
  /** The connection is closed without a response. */
  readonly drop?: "beforeCommit" | "afterCommit";
  /** With `drop`, the connection is reset (TCP RST) and not closed. */
  readonly reset?: boolean;
  /**
   * `truncated`: the connection is closed after half of the body. `wrongLength`: the
   * Content-Length is one less than the body, and the connection is closed after it.
   * `brokenChunk`: the body is chunked, and its second chunk has no size. `garbage`: bytes
   * that are not HTTP are sent in place of the response.
   */
  readonly body?: "truncated" | "wrongLength" | "brokenChunk" | "garbage";
  /** At which the response is sent; the connection is closed after it. */
  readonly bytesPerSecond?: number;
}

/** A resource of the default contract. */
export interface StoredPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

/** A resource as it is sent: a bigint may be a safe integer. */
export type Sent<Resource> = {
  readonly [Name in keyof Resource]: Resource[Name] extends bigint ? bigint | number : Resource[Name];
};

export interface Clock {
  readonly now: string;
  /** The difference to the real time. */
  readonly offsetSeconds: number;
}

export interface ClockChange {
  /** The difference to the real time; 0 is the real time. */
  readonly offsetSeconds: number;
}

export interface NewToken {
  /** Not empty, without control characters, unique unless revoked. */
  readonly name: string;
  /** Counted by the sandbox's clock. If left out, the token does not expire. */
  readonly expiresInSeconds?: number;
  /** As the contract has them, with a space between two. If left out, the token may do everything. */
  readonly scopes?: string;
}
