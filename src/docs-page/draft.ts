// Copies the author's description, so that the parts of the server can be added.

import type { Collection, Contract } from "../contract/contract.ts";
import type { Operation } from "../http/operation.ts";
import { parseExactJson, toExactJson } from "../json/exact-json.ts";
import { referencedMembers } from "../json/json-pointer.ts";
import type { Json } from "../json/json-values.ts";
import { decodePercent } from "../json/percent-encoding.ts";
import type { Description, OperationObject, ParameterObject } from "./description.ts";

export type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

/** An operation as the author describes it; empty where the author does not. */
export type AuthorOperation = Partial<OperationObject>;

/** A longer chain of references is taken for a cycle. */
const referencesMax = 20;

export class Draft {
  readonly contract: Contract;
  /** The operations other than the creates. */
  readonly operations: readonly Operation[];
  /** A copy that shares no parts within itself; aliases of YAML share them in the original. */
  readonly document: Mutable<Description>;

  /** The author's paths by their shapes. */
  readonly #paths: ReadonlyMap<string, string>;

  constructor(contract: Contract, operations: readonly Operation[]) {
    this.contract = contract;
    this.operations = operations;
    this.document = parseExactJson(toExactJson(contract.document)) as Description;
    // OpenAPI 3.1 allows webhooks or components alone.
    const { components, paths = {} } = this.document;
    this.document.paths = paths;
    // The first one of a shape counts.
    this.#paths = new Map(
      Object.keys(paths)
        .toReversed()
        .map((path) => [shapeOf(path), path]),
    );
    this.document.components = { ...components, schemas: { ...components?.schemas } };
  }

  /** The create of a collection as it is described so far. */
  createOf({ describedPath }: Collection): AuthorOperation {
    return this.document.paths[describedPath]?.post ?? {};
  }

  /** The object that a part is or refers to; undefined if there is none. */
  resolve<Part extends object>(part: Part | undefined): Part | undefined {
    let found: unknown = part;
    for (let count = 0; count < referencesMax; count++) {
      if (typeof found !== "object" || found === null) return undefined;
      const { $ref } = found as { readonly $ref?: unknown };
      if (typeof $ref !== "string") return found as Part;
      found = referencedMembers($ref).reduce<unknown>(
        (parent, name) => (parent as Json | undefined)?.[name],
        this.document,
      );
    }
    return undefined;
  }

  /** Parameters with their references resolved, as the page shows them. */
  resolveParameters(parameters: readonly ParameterObject[] | undefined): ParameterObject[] {
    if (!Array.isArray(parameters)) return [];
    return parameters.map((each) => this.resolve(each)).filter((each) => each !== undefined);
  }

  /** The path of an operation as the author has it, whatever the name of its parameter. */
  pathOf(path: string): string {
    return this.#paths.get(shapeOf(path)) ?? decodePercent(path);
  }
}

function shapeOf(path: string): string {
  return decodePercent(path).replaceAll(/\{[^{}]*\}/g, "{}");
}
