// Outcomes that a sandbox forces on requests, in place of or beside what the server does: errors,
// examples, delays, closed connections, responses of the wrong length, and slow ones.

import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import { openapi } from "../core/contract/plant.ts";

export interface Outcome {
  readonly error?: ErrorCode;
  /** Whether the plant is stored before the error or the example is sent. */
  readonly commit?: boolean;
  readonly example?: Example;
  readonly response?: ForcedResponse;
  readonly delay?: Delay;
  readonly drop?: "beforeCommit" | "afterCommit";
  /** Whether a dropped connection is reset. */
  readonly reset?: boolean;
  readonly body?: "truncated" | "wrongLength" | "garbage" | "brokenChunk";
  readonly bytesPerSecond?: number;
}

/** Any response. */
export interface ForcedResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is, or a value that is sent as JSON. */
  readonly body?: unknown;
}

/**
 * A distribution of seconds; one that is drawn below 0 is 0, one above delaySecondsMax that
 * maximum.
 */
export type Distribution =
  | { readonly seconds: number }
  | { readonly uniform: readonly [least: number, most: number] }
  | { readonly normal: { readonly mean: number; readonly deviation: number } }
  | { readonly exponential: { readonly mean: number } };

export interface Delay {
  readonly distribution: Distribution;
  /** Whether the time passes before the plant is committed or after it. */
  readonly when: "before" | "after";
}

export const delaySecondsMax = 3_600;

/** An example of a response in openapi.yaml. */
export interface Example {
  readonly name: string;
  readonly status: number;
  /** Undefined for that of a plant. */
  readonly error: ErrorCode | undefined;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The codes of the registry by their numbers. */
export const errorCodes: ReadonlyMap<number, ErrorCode> = new Map(
  Object.entries(errorRegistry).map(([code, { error }]) => [error, code as ErrorCode]),
);

interface DescribedResponse {
  readonly $ref?: string;
  readonly content?: {
    readonly "application/json": {
      readonly examples?: Readonly<Record<string, { readonly value: Example["value"] }>>;
    };
  };
}

/** The parts of openapi.yaml that have examples of responses. */
interface DescribedInterface {
  readonly paths: {
    readonly "/plants": {
      readonly post: { readonly responses: Readonly<Record<string, DescribedResponse>> };
    };
  };
  readonly components: { readonly responses: Readonly<Record<string, DescribedResponse>> };
}

const described = openapi as unknown as DescribedInterface;

/** The named examples of all responses to a create. No two have the same name. */
export const examples: ReadonlyMap<string, Example> = new Map(
  Object.entries(described.paths["/plants"].post.responses).flatMap(([status, response]) =>
    Object.entries(resolveResponse(response).content?.["application/json"].examples ?? {}).map(
      ([name, { value }]) => {
        const error = "error" in value ? errorCodes.get(Number(value.error)) : undefined;
        return [name, { name, status: Number(status), error, value }] as const;
      },
    ),
  ),
);

/**
 * The error with a five-digit code, or that of the first example of a status, which mock servers
 * send, too.
 */
export function findError(code: number): ErrorCode | undefined {
  return errorCodes.get(code) ?? [...examples.values()].find(({ status }) => status === code)?.error;
}

/** The first example of an error. */
export function exampleOf(code: ErrorCode): Example | undefined {
  return [...examples.values()].find(({ error }) => error === code);
}

function resolveResponse(response: DescribedResponse): DescribedResponse {
  const name = response.$ref?.split("/").at(-1);
  return (name === undefined ? undefined : described.components.responses[name]) ?? response;
}

/** Draws from a distribution, in milliseconds. */
export function drawDelayMs(distribution: Distribution, random: { next(): number }): number {
  const seconds = drawSeconds(distribution, random);
  return Math.min(delaySecondsMax, Math.max(0, seconds)) * 1_000;
}

function drawSeconds(distribution: Distribution, random: { next(): number }): number {
  if ("seconds" in distribution) return distribution.seconds;
  if ("uniform" in distribution) {
    const [least, most] = distribution.uniform;
    return least + random.next() * (most - least);
  }
  // The logarithm of 0 is not a number.
  const positive = 1 - random.next();
  if ("exponential" in distribution) return -Math.log(positive) * distribution.exponential.mean;
  // Box-Muller.
  const { mean, deviation } = distribution.normal;
  return mean + deviation * Math.sqrt(-2 * Math.log(positive)) * Math.cos(2 * Math.PI * random.next());
}
