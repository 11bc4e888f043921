// The errors, examples and delays of the outcomes that a sandbox forces on requests.

import openapi from "../../openapi.yaml";
import type { ErrorCode as ErrorNumber, Outcome } from "../../packages/sandbox/src/control-types.ts";
import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";

export type { Outcome };

type Delay = NonNullable<Outcome["delay"]>;

export const delaySecondsMax = 3_600;

export interface Example {
  readonly name: NonNullable<Outcome["example"]>;
  readonly status: number;
  /** Undefined for that of a plant. */
  readonly error: ErrorCode | undefined;
  readonly value: Readonly<Record<string, unknown>>;
}

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
        return [name, { name: name as Example["name"], status: Number(status), error, value }] as const;
      },
    ),
  ),
);

/** The five-digit code of an error, from that code, or from a status by its first example. */
export function findError(code: number): ErrorNumber | undefined {
  const error = errorCodes.get(code) ?? [...examples.values()].find(({ status }) => status === code)?.error;
  return error && errorRegistry[error].error;
}

export function exampleOf(code: ErrorCode): Example | undefined {
  return [...examples.values()].find(({ error }) => error === code);
}

function resolveResponse(response: DescribedResponse): DescribedResponse {
  const name = response.$ref?.split("/").at(-1);
  return (name === undefined ? undefined : described.components.responses[name]) ?? response;
}

export function drawDelayMs({ seconds }: Delay, random: { next(): number }): number {
  if (typeof seconds === "number") return seconds * 1_000;
  const [least, most] = seconds;
  return (least + random.next() * (most - least)) * 1_000;
}
