// Finds the routes of requests in a sandbox, and the collections that they belong to.

import type { Collection, Contract } from "../core/contract/contract.ts";
import { createOperation } from "../core/http/create-plant.ts";
import type { Operation } from "../core/http/operation.ts";
import { type Route, routerOf } from "../core/http/router.ts";
import { pathShape } from "../core/http/unserved-operations.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

export class RequestRoutes {
  /** Finds the route of a method and a path. */
  readonly find: (method: string, path: string) => Route;
  readonly #collections: readonly Collection[];

  /**
   * @param operations those besides the creates.
   * @param basePath the server's.
   */
  constructor(contract: Contract, operations: readonly Operation[], basePath: string) {
    const creates = contract.collections.map(createOperation);
    this.find = routerOf([...creates, ...operations], basePath, contract);
    this.#collections = contract.collections;
  }

  /** The collection that a request is for, or for one of whose resources it is. */
  collectionOf({ operation, path }: Route): Collection | undefined {
    const offered = operation ?? methods.map((each) => this.find(each, path).operation).find(Boolean);
    if (offered === undefined) return undefined;
    const shape = pathShape(offered.path);
    return this.#collections.find(
      (each) => shape === pathShape(each.path) || shape === pathShape(each.itemPath),
    );
  }
}
