// Finds the routes of requests in a sandbox, and the collections that they belong to.

import type { Collection, Contract } from "../contract/contract.ts";
import type { OperationRow } from "../http/operation.ts";
import { type Route, routerOf } from "../http/router.ts";
import { withoutThose } from "../http/unserved-operations.ts";
import { pathShape } from "../json/percent-encoding.ts";
import { createRow } from "../plants/create-plant.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

export class RequestRoutes {
  /** Finds the route of a method and a path. */
  readonly find: (method: string, path: string) => Route<OperationRow>;
  readonly #collections: readonly Collection[];

  /**
   * @param operations those besides the creates.
   * @param basePath the server's.
   */
  constructor(contract: Contract, operations: readonly OperationRow[], basePath: string) {
    const creates = contract.collections.map(createRow);
    this.find = routerOf([...withoutThose(creates, operations), ...operations], basePath, contract);
    this.#collections = contract.collections;
  }

  /** The collection that a request is for, or for one of whose resources it is. */
  collectionOf({ operation, path }: Route<OperationRow>): Collection | undefined {
    const offered = operation ?? methods.map((each) => this.find(each, path).operation).find(Boolean);
    if (offered === undefined) return undefined;
    const shape = pathShape(offered.path);
    return this.#collections.find(
      (each) => shape === pathShape(each.path) || shape === pathShape(each.itemPath),
    );
  }
}
