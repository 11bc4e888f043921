// Finds the examples of responses that a sandbox sends, each with its error.

import type { ErrorCode as ErrorNumber } from "../../packages/sandbox/src/control-types.ts";
import { type ErrorCode, errorRegistry } from "../base/errors.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import { type Description, jsonMedia, referencedResponse } from "../docs-page/description.ts";
import { codeOfExample } from "../docs-page/failure-responses.ts";
import { servedDocument } from "../docs-page/served-document.ts";

export interface Example {
  readonly name: string;
  readonly status: number;
  /** Undefined for the example of a plant. */
  readonly error: ErrorCode | undefined;
  readonly value: Readonly<Record<string, unknown>>;
}

export const errorCodes: ReadonlyMap<number, ErrorCode> = new Map(
  Object.entries(errorRegistry).map(([code, { error }]) => [error, code as ErrorCode]),
);

/**
 * The named examples of the responses to the create of each collection; those of the first one
 * without a collection.
 *
 * @param basePath the server's, which messages of errors have.
 */
export function examplesOf(contract: Contract, basePath: string): (collection?: Collection) => Examples {
  const document = servedDocument(contract, [], basePath);
  const made = new Map<Collection, Examples>();
  const [first] = contract.collections;
  return (collection = first) => {
    const known = collection && made.get(collection);
    if (known !== undefined) return known;
    const examples = new Examples(new Map(namedExamples(document, collection)));
    if (collection !== undefined) made.set(collection, examples);
    return examples;
  };
}

function namedExamples(document: Description, collection: Collection | undefined): [string, Example][] {
  const responses = document.paths[collection?.describedPath ?? ""]?.post?.responses ?? {};
  return Object.entries(responses).flatMap(([status, described]) => {
    const { content = {} } = referencedResponse(document.components, described);
    return Object.entries(jsonMedia(content)?.[1].examples ?? {}).flatMap(
      ([name, { value }]): [string, Example][] => {
        if (typeof value !== "object" || value === null) return [];
        const ofStatus = Number(status) >= 400 ? codeOfExample(name) : undefined;
        const error = ("error" in value ? errorCodes.get(Number(value.error)) : undefined) ?? ofStatus;
        return [[name, { name, status: Number(status), error, value: { ...value } }]];
      },
    );
  });
}

export class Examples {
  readonly byName: ReadonlyMap<string, Example>;

  constructor(byName: ReadonlyMap<string, Example>) {
    this.byName = byName;
  }

  /** The five-digit code of an error, given that code or a status, whose first example counts. */
  findError(code: number): ErrorNumber | undefined {
    const ofStatus = [...this.byName.values()].find(({ status }) => status === code);
    const error = errorCodes.get(code) ?? ofStatus?.error;
    return error && errorRegistry[error].error;
  }

  of(code: ErrorCode): Example | undefined {
    return [...this.byName.values()].find(({ error }) => error === code);
  }
}
